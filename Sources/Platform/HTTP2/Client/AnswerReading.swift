/// The rules for the header fields of one answer (RFC 9113, 8.1 to 8.3), applied while its block is read.
///
/// Fields that are not kept are not checked closely, because errors in them do no harm here.
@safe struct AnswerReading {
    let isTrailer: Bool
    var listBytes = 0
    var hasStatus = false
    var hasRegularField = false
    var isMalformed = false

    init(isTrailer: Bool) { self.isTrailer = isTrailer }

    private static let statusDigits = 3
    /// Limit on the digits of a body length.
    private static let lengthDigitsMax = 18

    /// Checks the only pseudo field of an answer, which must come first. Returns the status after it.
    mutating func status(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, after present: UInt16
    ) -> UInt16 {
        let isStatus = unsafe name.equals(":status")
        guard isStatus, !isTrailer, !hasStatus, !hasRegularField,
            let number = unsafe AnswerReading.number(value, digitsMax: AnswerReading.statusDigits),
            (100...999).contains(number), number != 101
        else {
            isMalformed = true
            return present
        }
        hasStatus = true
        return UInt16(number)
    }

    static func isContentLength(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe name.equals("content-length")
    }

    /// Reads the content length, which must be a number and appear once.
    mutating func length(_ value: UnsafeRawBufferPointer, _ contentLength: inout Int?) {
        let length = unsafe AnswerReading.number(value, digitsMax: AnswerReading.lengthDigitsMax)
        isMalformed = length == nil || contentLength != nil
        contentLength = length
    }

    /// Whether the field describes the connection, which HTTP/2 forbids.
    static func isOfHTTP1(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 7: unsafe name.equals("upgrade")
        case 10: unsafe name.equals("connection") || name.equals("keep-alive")
        case 16: unsafe name.equals("proxy-connection")
        case 17: unsafe name.equals("transfer-encoding")
        default: false
        }
    }

    /// Whether the block may end here. An answer needs a status, an informational answer must not be the last
    /// block, and trailers must be.
    func isWhole(status: UInt16, isLast: Bool) -> Bool {
        isTrailer ? isLast : hasStatus && (status >= 200 || !isLast)
    }

    /// Whether the value has no line break and no zero byte.
    static func isValue(_ value: UnsafeRawBufferPointer) -> Bool {
        unsafe value.allSatisfy { $0 != 0 && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    }

    private static func number(_ value: UnsafeRawBufferPointer, digitsMax: Int) -> Int? {
        guard value.count > 0, value.count <= digitsMax else { return nil }
        var number = 0
        for index in 0..<value.count {
            let digit = unsafe value[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            number = number * 10 + Int(digit)
        }
        return number
    }
}

extension UnsafeRawBufferPointer {
    func equals(_ name: StaticString) -> Bool {
        unsafe count == name.utf8CodeUnitCount
            && elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: count))
    }
}
