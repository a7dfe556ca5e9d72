internal import Lifecycle

/// The pushes that our clients and h2load send in the same run: a token of 64 hex digits, the headers of a push with a
/// bearer token of 191 bytes, and a body of 600 bytes.
enum PushLoad {
    static let tokenCount = 10_000
    static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 600)
    static let headers = [
        (
            "authorization",
            "bearer " + String(String(repeating: "eyJhbGciOiJFUzI1NiIsImtpZCI6Ikx", count: 6).prefix(184))
        ),
        ("apns-topic", "com.example.matchday.push-type.liveactivity"), ("apns-push-type", "liveactivity"),
        ("apns-priority", "10"), ("apns-expiration", "1763632800"),
    ]

    /// Returns the token of an index. Every process makes the same tokens.
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

    private static func tokenWords(at index: Int) -> [UInt64] {
        var random = SplitMix64(state: UInt64(index))
        return (0..<4).map { _ in random.next() }
    }

    static func path(at index: Int) -> String { "/3/device/\(token(at: index))" }
}
