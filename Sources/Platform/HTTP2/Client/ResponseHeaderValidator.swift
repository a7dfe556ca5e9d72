/// The checks of one header block of an answer (RFC 9113, 8.1 to 8.3), made while the block is read.
///
/// Fields that are not kept are not checked closely, because errors in them do no harm here.
@safe struct ResponseHeaderValidator {
    /// Whether the block has trailers, which follow the body.
    let isTrailer: Bool
    /// The size of the block's fields so far, as `ClientLimits.headerListBytesMax` counts it.
    var listBytes = 0
    var hasStatus = false
    var hasRegularField = false
    var isMalformed = false

    init(isTrailer: Bool) { self.isTrailer = isTrailer }

    private static let statusDigits = 3
    /// The limit on the digits of a content length, so that it fits an `Int`.
    private static let lengthDigitsMax = 18
    /// 101 Switching Protocols, which HTTP/2 does not have.
    private static let switchingProtocols = 101

    /// Checks a pseudo field. The only one of an answer is `:status`, before all regular fields. Returns the
    /// status, or `current` if the field is wrong.
    mutating func readStatus(
        name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, keeping current: UInt16
    ) -> UInt16 {
        let isStatus = unsafe name.isEqual(to: ":status")
        guard isStatus, !isTrailer, !hasStatus, !hasRegularField,
            let number = unsafe ResponseHeaderValidator.parseNumber(
                value, digitsMax: ResponseHeaderValidator.statusDigits),
            (100...999).contains(number), number != ResponseHeaderValidator.switchingProtocols
        else {
            isMalformed = true
            return current
        }
        hasStatus = true
        return UInt16(number)
    }

    static func isContentLength(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe name.isEqual(to: "content-length")
    }

    /// Reads the content length, which must be a number and appear once.
    mutating func readContentLength(_ value: UnsafeRawBufferPointer, into contentLength: inout Int?) {
        let length = unsafe ResponseHeaderValidator.parseNumber(
            value, digitsMax: ResponseHeaderValidator.lengthDigitsMax)
        isMalformed = length == nil || contentLength != nil
        contentLength = length
    }

    /// Whether the field describes the connection, which HTTP/2 forbids.
    static func isConnectionSpecific(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 7: unsafe name.isEqual(to: "upgrade")
        case 10: unsafe name.isEqual(to: "connection") || name.isEqual(to: "keep-alive")
        case 16: unsafe name.isEqual(to: "proxy-connection")
        case 17: unsafe name.isEqual(to: "transfer-encoding")
        default: false
        }
    }

    /// Whether the block may end here. Trailers must be the last block. An answer needs a status, and an
    /// informational answer must not be the last block.
    func isComplete(status: UInt16, isLast: Bool) -> Bool {
        if isTrailer { return isLast }
        let isFinal = status >= 200
        return hasStatus && (isFinal || !isLast)
    }

    /// Whether the value has no line break and no zero byte.
    static func isValidValue(_ value: UnsafeRawBufferPointer) -> Bool {
        unsafe value.allSatisfy { $0 != 0 && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    }

    private static func parseNumber(_ value: UnsafeRawBufferPointer, digitsMax: Int) -> Int? {
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
    func isEqual(to name: StaticString) -> Bool {
        unsafe count == name.utf8CodeUnitCount
            && elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: count))
    }
}
