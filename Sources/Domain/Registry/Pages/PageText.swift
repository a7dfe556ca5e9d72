internal import Glibc

/// The texts of a page (`TokenPage`), one behind the other in an owned buffer. It is not an array, because a dozen texts
/// are appended for each of a million rows, and an array checks on each append whether its storage is shared.
@safe struct PageText: ByteSink, ~Copyable {
    private var bytes: UnsafeMutablePointer<UInt8>
    /// The size of the buffer in bytes. It grows and never shrinks.
    private var capacity = 64 * 1024
    private(set) var count = 0

    init() { unsafe bytes = .allocate(capacity: capacity) }

    deinit { unsafe bytes.deallocate() }

    var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = unsafe Span(_unsafeStart: UnsafePointer(bytes), count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    mutating func removeAll() { count = 0 }

    mutating func append(_ byte: UInt8) {
        if count == capacity { grow(by: 1) }
        unsafe bytes[count] = byte
        count += 1
    }

    mutating func append(_ span: Span<UInt8>) {
        if span.count > capacity - count { grow(by: span.count) }
        unsafe span.withUnsafeBytes { source in
            if let start = source.baseAddress { unsafe memcpy(bytes + count, start, source.count) }
        }
        count += span.count
    }

    /// Appends a copy of bytes that the buffer already contains.
    mutating func append(copyOf range: Range<Int>) {
        precondition(range.upperBound <= count, "the range exceeds the text")
        if range.count > capacity - count { grow(by: range.count) }
        unsafe memcpy(bytes + count, bytes + range.lowerBound, range.count)
        count += range.count
    }

    mutating func extend(by addedCount: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        if addedCount > capacity - count { grow(by: addedCount) }
        unsafe fill(bytes + count)
        count += addedCount
    }

    /// Makes space for `addedCount` bytes behind the current ones.
    @inline(never)
    private mutating func grow(by addedCount: Int) {
        capacity = max(2 * capacity, count + addedCount)
        let largerBytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        unsafe largerBytes.update(from: bytes, count: count)
        unsafe bytes.deallocate()
        unsafe bytes = largerBytes
    }
}
