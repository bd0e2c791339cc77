/** The native half of the package. Not public: its classes change without notice. */
export * from '../native/native.js';
