internal import Glibc

/// A target for appended texts: an array or a page's buffer.
protocol ByteSink: ~Copyable {
    mutating func append(_ byte: UInt8)
    mutating func append(_ bytes: Span<UInt8>)
    /// Extends the sink by `count` bytes, which the body fills.
    mutating func extend(by count: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void)
}

extension [UInt8]: ByteSink {
    mutating func extend(by count: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        let start = self.count
        append(contentsOf: repeatElement(0, count: count))
        unsafe withUnsafeMutableBufferPointer { unsafe fill($0.baseAddress! + start) }
    }
}

/// Adjacent texts in an owned buffer. It is appended a dozen times for each of a million rows. An array would
/// check on each append whether its storage is shared.
@safe struct PageText: ByteSink, ~Copyable {
    private var bytes: UnsafeMutablePointer<UInt8>
    private var capacity = 64 << 10
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
        unsafe span.withUnsafeBytes { from in
            if let start = from.baseAddress { unsafe memcpy(bytes + count, start, from.count) }
        }
        count += span.count
    }

    /// Appends a copy of bytes that the buffer already contains.
    mutating func append(copyOf part: Range<Int>) {
        precondition(part.upperBound <= count, "the range exceeds the text")
        if part.count > capacity - count { grow(by: part.count) }
        unsafe memcpy(bytes + count, bytes + part.lowerBound, part.count)
        count += part.count
    }

    mutating func extend(by more: Int, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        if more > capacity - count { grow(by: more) }
        unsafe fill(bytes + count)
        count += more
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        capacity = max(2 * capacity, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        unsafe larger.update(from: bytes, count: count)
        unsafe bytes.deallocate()
        unsafe bytes = larger
    }
}
