import { many } from "./many.js";

many(150, 200);
