// The same objects as `require('inmost')`: a program that uses both must not have two kinds of stores.
export * from './index.js';
