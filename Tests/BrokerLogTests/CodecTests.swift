import Compression
import Simulation
import Testing

@testable import Broker

/// The codecs of Kafka, and their refusal of damaged or huge input.
struct CodecTests {
    /// Returns random letters from "a" to "e", which compress well.
    private func text(byteCount: Int, using random: inout SeededGenerator) -> [UInt8] {
        (0..<byteCount).map { _ in UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "e"), using: &random) }
    }

    @Test(arguments: [Codec.gzip, .lz4, .zstd])
    func `a codec decompresses its own output`(_ codec: Codec) throws {
        var random = SeededGenerator(seed: 1)
        for size in [0, 1, 100, 65_536, 1_000_000] {
            let plain = text(byteCount: size, using: &random)
            let packed = codec.compress(plain)
            #expect(packed.codec == codec)
            // A small input may grow.
            #expect(size < 1_000 || packed.bytes.count < size)
            let unpacked = try packed.bytes.withBytes { (raw) throws(LogError) in try codec.decompress(raw) }
            #expect(unpacked == plain)
        }
    }

    // A small input is decompressed into the smallest buffer, which doubles until the output fits.
    @Test(arguments: [Codec.gzip, .lz4, .zstd])
    func `an output that exactly fills its buffer is complete`(_ codec: Codec) throws {
        for size in [4096, 8192, 65_536] {
            let plain = [UInt8](repeating: UInt8(ascii: "x"), count: size)
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
        let bytesMax = 1 << 20
        for (byteCount, isDecompressed) in [(bytesMax, true), (bytesMax + 1, false), (4 * bytesMax, false)] {
            let packed = codec.compress([UInt8](repeating: 0, count: byteCount)).bytes
            let unpacked: [UInt8]? = packed.withBytes { raw in
                switch codec {
                case .gzip: Gzip.decompress(raw, max: bytesMax)
                case .lz4: LZ4Codec.decompress(raw, max: bytesMax)
                default: ZstdCodec.decompress(raw, max: bytesMax)
                }
            }
            #expect(unpacked?.count == (isDecompressed ? byteCount : nil), "\(byteCount) bytes")
        }
    }

    /// "abcdabcdabcdabcd" and forty times "x" as a Snappy block. It begins with the length 56. A literal has its length
    /// less one in the high six bits of its tag. A copy has its length and the distance back to its source.
    private static let snappy: [UInt8] = {
        let parts: [[UInt8]] = [
            [56],
            [3 << 2], Array("abcd".utf8),  // a literal of 3 + 1 bytes
            [0x01 | (7 << 2), 4],  // a copy of 7 + 4 bytes from 4 bytes before, which overlaps itself
            [0 << 2, UInt8(ascii: "d")],  // a literal
            [0 << 2, UInt8(ascii: "x")],  // a literal
            [0x02 | (38 << 2), 1, 0],  // a copy of 38 + 1 bytes from 1 byte before
        ]
        return Array(parts.joined())
    }()

    @Test func `snappy is read raw and in the Java framing`() throws {
        let plain = Array("abcdabcdabcdabcd".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 40)
        let raw = try Self.snappy.withBytes { (raw) throws(LogError) in try Codec.snappy.decompress(raw) }
        #expect(raw == plain)
        // The Java framing: a magic, two version numbers, and two blocks with their lengths.
        let header: [UInt8] = [0x82] + Array("SNAPPY".utf8) + [0, 0, 0, 0, 1, 0, 0, 0, 1]
        let block: [UInt8] = [0, 0, 0, UInt8(Self.snappy.count)] + Self.snappy
        let framed = header + block + block
        let java = try framed.withBytes { (raw) throws(LogError) in try Codec.snappy.decompress(raw) }
        #expect(java == plain + plain)
    }
}
