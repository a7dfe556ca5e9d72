internal import TLS

/// Makes the ids that APNs gives to requests which bring none: random UUIDs of version 4.
struct RequestIDs {
    private static let idsPerRefill = 256
    private static let digits = Array("0123456789abcdef".utf8)

    private var random: [UInt8] = []
    private var used = 0

    mutating func next() -> [UInt8] {
        if used == random.count {
            random = Random.bytes(16 * Self.idsPerRefill)
            used = 0
        }
        defer { used += 16 }
        var id: [UInt8] = []
        id.reserveCapacity(36)
        for index in 0..<16 {
            if [4, 6, 8, 10].contains(index) { id.append(UInt8(ascii: "-")) }
            var byte = random[used + index]
            if index == 6 { byte = byte & 0x0F | 0x40 }
            if index == 8 { byte = byte & 0x3F | 0x80 }
            id.append(Self.digits[Int(byte >> 4)])
            id.append(Self.digits[Int(byte & 15)])
        }
        return id
    }
}
