/// Integers as HPACK writes them (RFC 7541, 5.1): in the low bits of a byte, and on in groups of seven.
enum HPACKInteger {
    static func append(_ value: Int, prefixBits: Int, pattern: UInt8, to bytes: inout [UInt8]) {
        let limit = 1 << prefixBits - 1
        guard value >= limit else { return bytes.append(pattern | UInt8(value)) }
        bytes.append(pattern | UInt8(limit))
        var rest = value - limit
        while rest >= 128 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// For bytes that this process wrote.
    static func read(_ bytes: UnsafeRawBufferPointer, _ start: Int, prefixBits: Int) -> (value: Int, end: Int)
    {
        let limit = 1 << prefixBits - 1
        var value = unsafe Int(bytes[start]) & limit
        var at = start + 1
        guard value == limit else { return (value, at) }
        var shift = 0
        while true {
            let byte = unsafe Int(bytes[at])
            at += 1
            value += (byte & 127) << shift
            shift += 7
            if byte < 128 { return (value, at) }
        }
    }
}
