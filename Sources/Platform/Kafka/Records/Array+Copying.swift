extension [UInt8] {
    /// Copies bytes that a record lends.
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Copies bytes that a record lends, or returns nil if the record has none.
    package init?(copying bytes: Span<UInt8>?) {
        guard let bytes else { return nil }
        self.init(copying: bytes)
    }
}
