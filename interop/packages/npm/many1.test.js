import { many } from "./many.js";

many(50, 100);
