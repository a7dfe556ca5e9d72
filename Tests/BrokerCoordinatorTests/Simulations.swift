import Glibc

@testable import Broker

/// The seeds of the simulations of groups and of transactions, and a reader of the records that they inspect. A
/// simulation runs in eight batches, which Swift Testing runs in parallel.
enum Simulations {
    /// The number of histories in each of the eight batches. `SIMULATION_SEEDS` sets the number of all batches
    /// together; 10,000 take seconds in a release build.
    private static let seedsPerBatch: Int = {
        let seedsByDefault = 60
        guard let text = getenv("SIMULATION_SEEDS"), let total = Int(String(cString: text)) else {
            return seedsByDefault
        }
        let batchCount = 8
        return max(1, total / batchCount)
    }()

    /// Returns the seeds of a batch, 0 to 7. No seed is in two batches.
    static func seeds(of batch: Int) -> [UInt64] {
        (0..<seedsPerBatch).map { UInt64(batch * seedsPerBatch + $0) }
    }

    /// Reads a record of the topic of transactions. Returns the transactional id and its state, or nil for a record of
    /// another kind.
    static func transaction(in record: CoordinatorRecord) -> (String, TransactionFacts)? {
        guard let value = record.value else { return nil }
        let name = try? WireReader.read(record.key, encoding: .compact) {
            (reader) throws(WireError) -> String? in
            try reader.int16() == TransactionRecords.transactionKind ? try reader.string() : nil
        }
        guard let name, let facts = try? TransactionRecords.facts(from: value) else { return nil }
        return (name, facts)
    }
}
