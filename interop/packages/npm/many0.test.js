import { many } from "./many.js";

many(0, 50);
