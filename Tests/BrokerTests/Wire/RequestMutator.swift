/// Makes unsound requests from sound ones: flipped bits, lengths of every size, cuts, repeats and
/// pieces of other requests. The same seed gives the same requests.
struct RequestMutator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    private mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(max(1, bound)))
    }

    private static let lengths: [[UInt8]] = [
        [0xff, 0xff, 0xff, 0xff], [0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0], [0, 0, 0, 0],
        [0, 0xff, 0xff, 0xff],
        [0x7f, 0xff], [0xff, 0xfe], [0x80, 0x80, 0x80, 0x80, 0x80, 1], [0xff, 0xff, 0xff, 0xff, 0x0f],
    ]

    mutating func mutate(_ sound: [UInt8], with others: [RequestSamples.Sample]) -> [UInt8] {
        var bytes = sound
        for _ in 0...next(4) where !bytes.isEmpty {
            let place = next(bytes.count)
            switch next(7) {
            case 0: bytes[place] ^= 1 << UInt8(next(8))
            case 1: bytes[place] = UInt8(next(256))
            case 2:
                let length = Self.lengths[next(Self.lengths.count)]
                bytes.replaceSubrange(place..<min(bytes.count, place + length.count), with: length)
            case 3: bytes.removeLast(bytes.count - place)
            case 4: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + next(64))], at: place)
            case 5:
                let other = others[next(others.count)].bytes
                bytes.insert(contentsOf: other[next(other.count)...], at: place)
            default: bytes.append(contentsOf: [UInt8](repeating: UInt8(next(256)), count: next(2000)))
            }
        }
        return bytes
    }
}
