/// The cluster id that clients see: 16 random bytes in 22 characters. Each data directory has its own.
enum ClusterID {
    static func random(using generator: inout some RandomNumberGenerator) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let bytes = (0..<22).map { _ in letters[Int(generator.next(upperBound: UInt64(64)))] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
