/// A buffer to which decoded names and tokens are appended: an array, or the `PageText` of a page.
protocol ByteSink: ~Copyable {
    mutating func append(_ byte: UInt8)
    mutating func append(_ bytes: Span<UInt8>)
    /// Appends `count` bytes. `fill` gets a pointer to the first of them and must write them all. It need not be called
    /// for 0 bytes.
    mutating func extend(by count: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void)
}

// `append(_: Span)` is in `Array+Writing.swift`.
extension [UInt8]: ByteSink {
    mutating func extend(by count: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        guard count > 0 else { return }
        let start = self.count
        append(contentsOf: repeatElement(0, count: count))
        unsafe withUnsafeMutableBufferPointer { unsafe fill($0.baseAddress! + start) }
    }
}
