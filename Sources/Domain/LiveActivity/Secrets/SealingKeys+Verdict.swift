internal import Cryptography

/// The decision whether a process may start with its sealing keys, by the record of the installation's keys
/// in the catalog.
package enum SealingVerdict: Sendable, Equatable {
    case good
    /// The process may start after this record is written to the catalog.
    case news(SealingRecord)
    /// The process may not start. The text gives the reason and the remedy.
    case refused(String)
}

extension SealingKeys {
    private static let fingerprintBytes = 8

    /// Returns an identifier of the key that does not help to guess the key.
    private static func fingerprint(_ key: SecretBytes) -> String {
        Hex.text(
            Array(HMACSHA256(key: key).code(for: Array("flotilla fingerprint".utf8)).prefix(fingerprintBytes))
        )
    }

    /// Decides whether the process may start.
    ///
    /// - Parameters:
    ///   - keys: the keys of the process, or nil if it has none.
    ///   - standing: the record in the catalog, or nil before the first process with keys.
    package static func verdict(
        on keys: SealingKeys?, standing: SealingRecord?, now: Int64
    ) -> SealingVerdict {
        guard let keys, let newest = keys.seals.last else {
            if standing == nil { return .good }
            return .refused(
                "tokens of this installation are sealed, and this process has no keys; name the file with tokens.sealing-keys-file"
            )
        }
        let hash = fingerprint(keys.hash)
        let own = keys.seals.map { SealingRecord.Key(number: $0.number, fingerprint: fingerprint($0.key)) }
        guard let standing else {
            return .news(
                SealingRecord(hashFingerprint: hash, keys: own, sealing: newest.number, writtenAt: now))
        }
        guard hash == standing.hashFingerprint else {
            return .refused(
                "these are not this installation's sealing keys: the line `hash` has the fingerprint \(hash), the catalog has \(standing.hashFingerprint); give every process the same file"
            )
        }
        for key in own {
            if let known = standing.keys.first(where: { $0.number == key.number }), known != key {
                return .refused(
                    "sealing key \(key.number) differs from this installation's key \(key.number); a new key needs a new number"
                )
            }
        }
        guard own.contains(where: { $0.number == standing.sealing }) else {
            return .refused(
                "tokens are sealed with key \(standing.sealing), which the sealing keys of this process do not have; give it the file of the other processes"
            )
        }
        if standing.keys.contains(where: { $0.number == newest.number }) { return .good }
        var extended = standing
        extended.keys += own.filter { key in !standing.keys.contains { $0.number == key.number } }
        extended.sealing = newest.number
        extended.writtenAt = now
        return .news(extended)
    }
}
