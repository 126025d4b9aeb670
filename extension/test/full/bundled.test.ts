// What is shipped for every platform: the packages come from the package index on first use.
import { firstUse, packed } from './first-use';

firstUse('bundled', 'extension:python:bundled', () => packed());
