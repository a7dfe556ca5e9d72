internal import CLMDB

// The conversions between Swift spans and LMDB's pairs of size and address.

extension Span<UInt8> {
    /// Lends the bytes to one call. LMDB only reads the keys and values that it gets, although its types do
    /// not say so. A cursor changes only the pair.
    @unsafe func withMDBValue<R>(_ body: (inout MDB_val) -> R) -> R {
        unsafe withUnsafeBufferPointer { bytes in
            var value = unsafe MDB_val(
                mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return unsafe body(&value)
        }
    }

    /// The bytes that LMDB points at. The caller ensures that the transaction outlives them.
    @unsafe @_lifetime(immortal)
    init(_ value: MDB_val) {
        let start = unsafe UnsafePointer(value.mv_data.assumingMemoryBound(to: UInt8.self))
        let span = unsafe Span(_unsafeStart: start, count: value.mv_size)
        self = unsafe _overrideLifetime(span, copying: ())
    }

    /// Returns whether the key comes before these bytes in the order of keys.
    @unsafe func isAbove(_ key: MDB_val) -> Bool {
        unsafe withUnsafeBufferPointer { bound in
            var key = unsafe key
            return unsafe lmdb_key_is_before(&key, bound.baseAddress, bound.count) != 0
        }
    }
}
