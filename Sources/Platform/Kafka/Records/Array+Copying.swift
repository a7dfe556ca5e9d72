extension [UInt8] {
    /// Copies bytes that are read in place, so that they outlive their record.
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Copies bytes that are read in place, or returns nil if the record has none.
    package init?(copying bytes: Span<UInt8>?) {
        guard let bytes else { return nil }
        self.init(copying: bytes)
    }
}
