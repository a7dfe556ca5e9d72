/// The cluster id that clients see. Each data directory has its own.
enum ClusterID {
    /// The length of Kafka's ids, which are 16 bytes in URL-safe Base64.
    private static let length = 22

    static func random(using generator: inout some RandomNumberGenerator) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let bytes = (0..<length).map { _ in letters[Int(generator.next(upperBound: UInt64(letters.count)))] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
