/// Makes invalid requests from valid ones by random changes. The same seed gives the same requests.
struct RequestMutator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Returns the next number of a linear congruential generator with Knuth's constants. Its high bits are the best.
    private mutating func number(below bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(max(1, bound)))
    }

    /// Negative, huge, zero and overlong lengths, in the fixed and in the variable encoding.
    private static let lengths: [[UInt8]] = [
        [0xff, 0xff, 0xff, 0xff], [0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0], [0, 0, 0, 0],
        [0, 0xff, 0xff, 0xff],
        [0x7f, 0xff], [0xff, 0xfe], [0x80, 0x80, 0x80, 0x80, 0x80, 1], [0xff, 0xff, 0xff, 0xff, 0x0f],
    ]

    /// Returns the request after one to four changes.
    mutating func mutate(_ valid: [UInt8], with others: [RequestSamples.Sample]) -> [UInt8] {
        var bytes = valid
        for _ in 0...number(below: 4) where !bytes.isEmpty {
            let position = number(below: bytes.count)
            switch number(below: 7) {
            // A flipped bit, or a changed byte.
            case 0: bytes[position] ^= 1 << UInt8(number(below: 8))
            case 1: bytes[position] = UInt8(number(below: 256))
            // A wrong length.
            case 2:
                let length = Self.lengths[number(below: Self.lengths.count)]
                bytes.replaceSubrange(position..<min(bytes.count, position + length.count), with: length)
            // A cut.
            case 3: bytes.removeLast(bytes.count - position)
            // A repeated part.
            case 4:
                bytes.insert(
                    contentsOf: bytes[position..<min(bytes.count, position + number(below: 64))], at: position
                )
            // The end of another request.
            case 5:
                let otherBytes = others[number(below: others.count)].bytes
                bytes.insert(contentsOf: otherBytes[number(below: otherBytes.count)...], at: position)
            // Equal bytes behind the request.
            default:
                bytes.append(
                    contentsOf: [UInt8](repeating: UInt8(number(below: 256)), count: number(below: 2000)))
            }
        }
        return bytes
    }
}
