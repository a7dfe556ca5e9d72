internal import Lifecycle

/// The pushes that our clients and h2load send in the same run, so that both do the same work. Each push has one of
/// 10,000 tokens, the headers of an update as Flotilla sends it, and a body of 600 bytes.
enum PushLoad {
    static let tokenCount = 10_000
    static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 600)

    /// The names and values of the headers, without an apns-id.
    static let headers = [
        ("authorization", "bearer " + providerToken),
        ("apns-topic", "com.example.matchday.push-type.liveactivity"), ("apns-push-type", "liveactivity"),
        ("apns-priority", "10"), ("apns-expiration", "1763632800"),
    ]

    /// A text as long as a provider token. The servers of the benchmarks do not check it.
    private static let providerToken = String(
        String(repeating: "eyJhbGciOiJFUzI1NiIsImtpZCI6Ikx", count: 6).prefix(184))

    /// Returns the path of a push to the token of an index.
    static func path(at index: Int) -> String { "/3/device/\(token(at: index))" }

    // MARK: Tokens

    /// Returns the token of an index, as 64 hex digits. Every process makes the same tokens.
    static func token(at index: Int) -> String {
        tokenWords(at: index).map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Appends the bytes whose hex digits `token` returns.
    static func appendToken(at index: Int, to bytes: inout [UInt8]) {
        for word in tokenWords(at: index) {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
    }

    /// Returns the token as four random words of 64 bits. The index is the seed.
    private static func tokenWords(at index: Int) -> [UInt64] {
        var random = SplitMix64(state: UInt64(index))
        return (0..<4).map { _ in random.next() }
    }
}
