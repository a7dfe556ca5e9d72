internal import Identifiers
package import JSON
internal import RecordFormat

/// The fingerprints of the sealing keys of this installation of Flotilla: a record of `catalog`. Each process
/// compares its keys with them at its start. With other keys it would compute other hashes for the same tokens,
/// and it could not open tokens that other processes have sealed.
package struct SealingRecord: JSONRecord, Hashable {
    package static let schemaVersion = 1
    package static let key = RecordKey.join("sealing", "", "")
    /// The maximum number of keys with a recorded fingerprint. A key number is never reused.
    package static let keysMax = 1000

    /// The number and the fingerprint of one sealing key.
    package struct Key: Sendable, Hashable {
        package var number: Int
        package var fingerprint: String

        package init(number: Int, fingerprint: String) {
            self.number = number
            self.fingerprint = fingerprint
        }
    }

    /// The fingerprint of the hash key, which never changes.
    package var hashFingerprint: String
    /// All keys that have sealed tokens.
    package var keys: [Key]
    /// The number of the newest sealing key. Every process must be able to open tokens that it sealed.
    package var newestKeyNumber: Int
    /// Milliseconds since 1970.
    package var writtenAt: Int64

    /// Whether this record contains everything that the older record contains.
    package func extends(_ older: SealingRecord) -> Bool {
        hashFingerprint == older.hashFingerprint && older.keys.allSatisfy(keys.contains)
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("hashFingerprint", hashFingerprint)
        writer.name("keys")
        writer.beginArray()
        for key in keys {
            writer.beginObject()
            writer.field("number", key.number)
            writer.field("fingerprint", key.fingerprint)
            writer.endObject()
        }
        writer.endArray()
        writer.field("sealing", newestKeyNumber)
        writer.field("writtenAt", writtenAt)
    }

    package init(hashFingerprint: String, keys: [Key], newestKeyNumber: Int, writtenAt: Int64) {
        self.hashFingerprint = hashFingerprint
        self.keys = keys
        self.newestKeyNumber = newestKeyNumber
        self.writtenAt = writtenAt
    }

    package init(from record: JSONObject) {
        var keys: [Key] = []
        var elements = record["keys"].array(countMax: Self.keysMax)
        while let element = elements.next() {
            let key = element.object()
            keys.append(
                Key(
                    number: key["number"].int(in: SealingKeys.numberRange),
                    fingerprint: key["fingerprint"].name()))
        }
        self.init(
            hashFingerprint: record["hashFingerprint"].name(), keys: keys,
            newestKeyNumber: record["sealing"].int(in: SealingKeys.numberRange),
            writtenAt: record["writtenAt"].timeMilliseconds())
    }
}
