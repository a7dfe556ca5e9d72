import Compression
import Simulation
import Testing

@testable import Broker

/// The codecs of Kafka, and their refusal of damaged or huge input.
struct CodecTests {
    private func text(byteCount: Int, using random: inout SeededGenerator) -> [UInt8] {
        (0..<byteCount).map { _ in UInt8.random(in: 97...101, using: &random) }
    }

    @Test(arguments: [Codec.gzip, .lz4, .zstd])
    func `a codec decompresses its own output`(_ codec: Codec) throws {
        var random = SeededGenerator(seed: 1)
        for size in [0, 1, 100, 65_536, 1_000_000] {
            let plain = text(byteCount: size, using: &random)
            let packed = codec.compress(plain)
            #expect(packed.codec == codec)
            #expect(size < 1000 || packed.bytes.count < size)
            let unpacked = try packed.bytes.withBytes { (raw) throws(LogError) in try codec.decompress(raw) }
            #expect(unpacked == plain)
        }
    }

    /// A small input is decompressed into the smallest buffer, which doubles until the output fits.
    @Test(arguments: [Codec.gzip, .lz4, .zstd])
    func `an output that exactly fills its buffer is complete`(_ codec: Codec) throws {
        for size in [4096, 8192, 65_536] {
            let plain = [UInt8](repeating: 120, count: size)
            let packed = codec.compress(plain).bytes
            let unpacked = try packed.withBytes { (raw) throws(LogError) in try codec.decompress(raw) }
            #expect(unpacked == plain)
        }
    }

    @Test(arguments: [Codec.gzip, .lz4, .zstd, .snappy])
    func `damaged bytes never end the process`(_ codec: Codec) {
        var random = SeededGenerator(seed: 2)
        let valid =
            codec == .snappy ? Self.snappy : codec.compress(text(byteCount: 5000, using: &random)).bytes
        for _ in 0..<3000 {
            var bytes = valid
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            if Bool.random(using: &random) {
                bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            }
            _ = try? bytes.withBytes { (raw) throws(LogError) in try codec.decompress(raw) }
        }
    }

    @Test(arguments: [Codec.gzip, .lz4, .zstd])
    func `a small input is not decompressed beyond a limit`(_ codec: Codec) {
        let bomb = codec.compress([UInt8](repeating: 0, count: 4 << 20)).bytes
        let opened: [UInt8]? = bomb.withBytes { raw in
            switch codec {
            case .gzip: Gzip.decompress(raw, max: 1 << 20)
            case .lz4: LZ4Codec.decompress(raw, max: 1 << 20)
            default: ZstdCodec.decompress(raw, max: 1 << 20)
            }
        }
        #expect(opened == nil)
    }

    /// "abcdabcdabcdabcd" and forty times "x" as a Snappy block: the length, a literal, a copy that overlaps itself, and a
    /// long run.
    private static let snappy: [UInt8] =
        [56, 0x0C, 97, 98, 99, 100] + [0x01 | (7 << 2), 4] + [0x00 | (0 << 2), 100]
        + [0x00, 120, 0x02 | (38 << 2), 1, 0]

    @Test func `snappy is read raw and in the Java framing`() throws {
        let plain = Array("abcdabcdabcdabcd".utf8) + [UInt8](repeating: 120, count: 40)
        let raw = try Self.snappy.withBytes { (raw) throws(LogError) in try Codec.snappy.decompress(raw) }
        #expect(raw == plain)
        // The header of the Java framing, and two blocks with their lengths.
        let framed: [UInt8] =
            [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]
            + [0, 0, 0, UInt8(Self.snappy.count)] + Self.snappy + [0, 0, 0, UInt8(Self.snappy.count)]
            + Self.snappy
        let java = try framed.withBytes { (raw) throws(LogError) in try Codec.snappy.decompress(raw) }
        #expect(java == plain + plain)
    }
}
