// What is shipped for every platform: the packages come from the package index on first use.
import { requirement } from '../requirement';
import { firstUse, packed } from './first-use';

firstUse('bundled', requirement('extension:python:bundled'), () => packed());
