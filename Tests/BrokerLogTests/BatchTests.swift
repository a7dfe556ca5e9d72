import Simulation
import Testing

@testable import Broker

/// The format of record batches: checksum, header, refused batches, and numbers of variable length (varints).
struct BatchTests {
    @Test func `the checksum by instruction and by table agree with the published value`() {
        // The check value that is published with the polynomial.
        #expect(CRC32C.checksum(of: Array("123456789".utf8)) == 0xE306_9283)
        var random = SeededGenerator(seed: 3)
        // The instruction takes pieces of 768 bytes, so sizes around one and two pieces are tried too.
        for size in Array(0..<200) + [767, 768, 769, 1535, 1536, 5000] {
            let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(CRC32C.checksum(of: bytes) == CRC32C.checksumByTable(of: bytes))
        }
    }

    @Test func `a header is written as it was read`() {
        let bytes = records("a", "b", key: "k")
        let header = bytes.withBytes { BatchHeader(parsing: $0) }
        var written = [UInt8](repeating: 0, count: BatchHeader.size)
        written.withMutableBytes { header.write(to: $0) }
        #expect(written == Array(bytes[..<BatchHeader.size]))
        #expect(header.recordCount == 2)
        #expect(header.totalSize == bytes.count)
    }

    enum Flaw {
        case shorterThanHeader, flippedBit, oldFormat, twoBatches, lastByteMissing, controlBatch
        case wrongRecordCount, unknownCodec, noRecords, transactionWithoutProducer
    }

    @Test(arguments: [
        (Flaw.shorterThanHeader, ErrorCode.corruptMessage), (.flippedBit, .corruptMessage),
        (.oldFormat, .corruptMessage), (.twoBatches, .invalidRecord), (.lastByteMissing, .corruptMessage),
        (.controlBatch, .invalidRecord), (.wrongRecordCount, .invalidRecord),
        (.unknownCodec, .unsupportedCompressionType), (.noRecords, .invalidRecord),
        (.transactionWithoutProducer, .invalidRecord),
    ])
    func `an invalid batch is refused with the protocol's error`(_ flaw: Flaw, _ code: ErrorCode) throws {
        var bytes = records("a", "b")
        /// Changes the header, and corrects the checksum.
        func change(_ body: (inout BatchHeader) -> Void) {
            var header = bytes.withBytes { BatchHeader(parsing: $0) }
            body(&header)
            bytes = BatchBuilder.assemble(header: header, body: Array(bytes[BatchHeader.size...]))
        }
        switch flaw {
        case .shorterThanHeader: bytes.removeLast(bytes.count - BatchHeader.size + 1)
        case .flippedBit: bytes[BatchHeader.size + 9] ^= 1
        case .oldFormat:
            let positionOfFormat = 16
            bytes[positionOfFormat] = 1
        case .twoBatches: bytes += bytes
        case .lastByteMissing: bytes.removeLast()
        case .controlBatch: change { $0.attributes |= BatchHeader.controlBit }
        case .wrongRecordCount: change { $0.recordCount = 3 }
        case .unknownCodec:
            let codecAfterLast = Int16(Codec.zstd.rawValue) + 1
            change { $0.attributes |= codecAfterLast }
        case .noRecords: change { $0.recordCount = 0 }
        case .transactionWithoutProducer: change { $0.attributes |= BatchHeader.transactionalBit }
        }
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path) {}
        let log = try store.create("t", partitions: 1).partitions[0]
        let error = try #require(throws: LogError.self) { try log.append(bytes) }
        #expect(error.code == code, "\(error)")
        #expect(log.endOffset == 0)
    }

    @Test func `a batch with random changes never ends the process`() {
        var random = SeededGenerator(seed: 11)
        let valid = records("a", "bb", "ccc", key: "k")
        for _ in 0..<20_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            if Bool.random(using: &random) {
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            }
            // Half of the batches get a valid checksum, so that their records are read too.
            if bytes.count >= BatchHeader.size, Bool.random(using: &random) {
                let header = bytes.withBytes { BatchHeader(parsing: $0) }
                bytes = BatchBuilder.assemble(header: header, body: Array(bytes[BatchHeader.size...]))
            }
            _ = try? bytes.withBytes { (raw) throws(LogError) in
                let header = try BatchHeader.parse(received: raw)
                try header.checkProduced()
                return try StoredBatch(parsing: raw)
            }
        }
    }

    @Test func `varints of every length are read as they were written`() {
        for shift in 0..<64 {
            let power = Int64(1) << Int64(shift)
            for value in [power, 0 &- power, power &- 1] {
                var bytes: [UInt8] = []
                Varint.append(value, to: &bytes)
                var position = 0
                #expect(bytes.withBytes { Varint.read($0, at: &position) } == value)
                #expect(position == bytes.count)
            }
        }
        // Both bytes say that another one follows.
        var position = 0
        #expect([0x80, 0x80].withBytes { Varint.read($0, at: &position) } == nil)
    }
}
