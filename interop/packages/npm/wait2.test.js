import { wait } from "./wait.js";

wait();
