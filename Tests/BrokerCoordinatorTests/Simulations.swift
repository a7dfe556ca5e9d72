import Glibc

@testable import Broker

/// Helpers of the simulations.
enum Simulations {
    /// Lives in one of the eight batches of a simulation. A few in every run of the tests; more, by
    /// setting SIMULATION_SEEDS, in a release build of them (10,000 take seconds there).
    private static let perBatch: Int = {
        guard let text = getenv("SIMULATION_SEEDS"), let total = Int(String(cString: text)) else { return 60 }
        return max(1, total / 8)
    }()

    static func seeds(of batch: Int) -> [UInt64] {
        (0..<perBatch).map { UInt64(batch * perBatch + $0) }
    }

    /// Reads a record of the transactions' topic: the transactional id and its state.
    static func transaction(_ record: CoordinatorRecord) -> (String, TransactionFacts)? {
        guard let value = record.value else { return nil }
        let name = try? WireReader.read(record.key, flexible: true) { (reader) throws(WireError) -> String? in
            try reader.int16() == TransactionRecords.transactionKind ? try reader.string() : nil
        }
        guard let name, let facts = try? TransactionRecords.facts(from: value) else { return nil }
        return (name, facts)
    }
}
