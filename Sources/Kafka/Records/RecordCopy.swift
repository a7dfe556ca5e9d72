extension [UInt8] {
    /// A copy of bytes that a record only lends.
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Nil where the record has none.
    package init?(copying bytes: Span<UInt8>?) {
        guard let bytes else { return nil }
        self.init(copying: bytes)
    }
}
