internal import Cryptography
internal import Identifiers

/// The decision whether a process may start with its sealing keys, by the record of the installation's keys
/// in the catalog.
package enum SealingKeysVerdict: Sendable, Equatable {
    case accepted
    /// The process may start after this record is written to the catalog.
    case acceptedWithNewRecord(SealingRecord)
    /// The process may not start. The text gives the reason and the remedy.
    case refused(String)
}

extension SealingKeys {
    private static let fingerprintBytes = 8

    /// Returns an identifier of the key that does not help to guess the key.
    private static func fingerprint(of key: SecretBytes) -> String {
        Hex.text(
            of: Array(
                HMACSHA256(key: key).authenticationCode(for: Array("flotilla fingerprint".utf8)).prefix(
                    fingerprintBytes))
        )
    }

    /// Decides whether the process may start.
    ///
    /// - Parameters:
    ///   - keys: the keys of the process, or nil if it has none.
    ///   - recorded: the record in the catalog, or nil before the first process with keys.
    ///   - now: milliseconds since 1970, for a new record.
    package static func verdict(
        on keys: SealingKeys?, recorded: SealingRecord?, now: Int64
    ) -> SealingKeysVerdict {
        guard let keys, let newestKey = keys.numberedKeys.last else {
            if recorded == nil { return .accepted }
            return .refused(
                "tokens of this installation are sealed, and this process has no keys; name the file with tokens.sealing-keys-file"
            )
        }
        let hashFingerprint = fingerprint(of: keys.hashKey)
        let processKeys = keys.numberedKeys.map {
            SealingRecord.Key(number: $0.number, fingerprint: fingerprint(of: $0.key))
        }
        guard let recorded else {
            return .acceptedWithNewRecord(
                SealingRecord(
                    hashFingerprint: hashFingerprint, keys: processKeys, newestKeyNumber: newestKey.number,
                    writtenAt: now))
        }
        guard hashFingerprint == recorded.hashFingerprint else {
            return .refused(
                "these are not this installation's sealing keys: the line `hash` has the fingerprint \(hashFingerprint), the catalog has \(recorded.hashFingerprint); give every process the same file"
            )
        }
        for key in processKeys {
            if let recordedKey = recorded.keys.first(where: { $0.number == key.number }), recordedKey != key {
                return .refused(
                    "sealing key \(key.number) differs from this installation's key \(key.number); a new key needs a new number"
                )
            }
        }
        guard processKeys.contains(where: { $0.number == recorded.newestKeyNumber }) else {
            return .refused(
                "tokens are sealed with key \(recorded.newestKeyNumber), which the sealing keys of this process do not have; give it the file of the other processes"
            )
        }
        if recorded.keys.contains(where: { $0.number == newestKey.number }) { return .accepted }
        var extended = recorded
        extended.keys += processKeys.filter { key in !recorded.keys.contains { $0.number == key.number } }
        extended.newestKeyNumber = newestKey.number
        extended.writtenAt = now
        return .acceptedWithNewRecord(extended)
    }
}
