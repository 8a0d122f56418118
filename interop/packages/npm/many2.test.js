import { many } from "./many.js";

many(100, 150);
