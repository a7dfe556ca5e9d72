internal import CRdKafka
internal import Glibc

/// The headers of a received record, in their order. Names may repeat.
@safe
package struct RecordHeaderList: ~Escapable {
    /// Nil if the record has no headers.
    private let pointer: OpaquePointer?
    package let count: Int

    @_lifetime(immortal)
    init(pointer: OpaquePointer?) {
        unsafe self.pointer = pointer
        unsafe count = pointer.map { unsafe rd_kafka_header_cnt($0) } ?? 0
    }

    package subscript(index: Int) -> Header {
        @_lifetime(copy self)
        get {
            precondition(index >= 0 && index < count, "no header \(index) of \(count)")
            var name: UnsafePointer<CChar>?
            var value: UnsafeRawPointer?
            var length = 0
            _ = unsafe rd_kafka_header_get_all(pointer!, index, &name, &value, &length)
            return unsafe _overrideLifetime(Header(name: name, value: value, count: length), copying: self)
        }
    }

    /// The total size of all values, in bytes.
    var valueByteCount: Int { (0..<count).reduce(0) { $0 + self[$1].valueByteCount } }

    /// Returns the last header with this name. Later headers replace earlier ones.
    @_lifetime(copy self)
    package func last(named name: StaticString) -> Header? {
        for index in stride(from: count - 1, through: 0, by: -1) where self[index].isNamed(name) {
            return self[index]
        }
        return nil
    }
}

/// One header of a received record, read in place.
@safe
package struct Header: ~Escapable {
    private let nameStart: UnsafePointer<CChar>?
    private let nameCount: Int
    private let valueStart: UnsafeRawPointer?
    private let valueCount: Int

    @_lifetime(immortal)
    init(name: UnsafePointer<CChar>?, value: UnsafeRawPointer?, count: Int) {
        unsafe nameStart = name
        unsafe nameCount = name.map { unsafe strlen($0) } ?? 0
        unsafe valueStart = value
        valueCount = count
    }

    package var name: Span<UInt8> {
        @_lifetime(copy self)
        get {
            guard let name = unsafe span(start: nameStart, count: nameCount) else { return Span() }
            return unsafe _overrideLifetime(name, copying: self)
        }
    }

    /// The value, or nil for a header without a value. An empty value is not nil.
    package var value: Span<UInt8>? {
        @_lifetime(copy self)
        get { unsafe _overrideLifetime(span(start: valueStart, count: valueCount), copying: self) }
    }

    /// The size of the value.
    var valueByteCount: Int { valueCount }

    package func isNamed(_ name: StaticString) -> Bool {
        guard nameCount == name.utf8CodeUnitCount, let start = unsafe nameStart else { return false }
        return unsafe memcmp(start, name.utf8Start, nameCount) == 0
    }
}
