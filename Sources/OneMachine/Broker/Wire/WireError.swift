/// The reason why bytes are not a request. The session closes the connection that sent them. Stored records
/// and files of the broker are decoded with the same errors.
package enum WireError: Error, Equatable, CustomStringConvertible {
    case truncated(wanted: Int, left: Int)
    case negativeLength(Int)
    /// Null where the schema has a value.
    case absentValue
    case tooManyElements(Int)
    case stringTooLong(Int)
    case varintTooLong
    case badBoolean(UInt8)
    case badRequestLength(Int)
    case unsupportedRequest(key: Int16, version: Int16)

    package var description: String {
        switch self {
        case .truncated(let wanted, let left):
            "request ends early: a field of \(wanted) bytes, \(left) left; check the client's protocol version"
        case .negativeLength(let length):
            "request has a length of \(length); check the client's protocol version"
        case .absentValue:
            "request has null where its schema wants a value; check the client's protocol version"
        case .tooManyElements(let count):
            "request has an array of \(count) elements, more than its bytes or the limit allow; split it"
        case .stringTooLong(let count):
            "request has a string of \(count) bytes, more than 32767; shorten it"
        case .varintTooLong:
            "request has a variable-length number that does not end; check the client's protocol version"
        case .badBoolean(let byte):
            "request has a boolean of \(byte); check the client's protocol version"
        case .badRequestLength(let length):
            "request claims \(length) bytes; send less, raise the limit, or check that this is a Kafka client"
        case .unsupportedRequest(let key, let version):
            "request \(key) in version \(version) is not supported; let the client ask for the versions first"
        }
    }
}
