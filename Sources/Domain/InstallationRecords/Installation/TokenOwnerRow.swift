package import Identifiers
package import JSON
package import RecordFormat

/// The owner of a start token: a row of `installations` in the partition of the token. Its key has the environment and the
/// hash of the token, such as `app/t:production:0f3a…`.
package struct TokenOwnerRow: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The prefix of the key's second part, in the place of a subject. It sorts behind installations.
    private static let keyPrefix = "t:"

    package var app: String
    package var installation: String
    /// The time at which the installation reported the token.
    package var at: ReportTime

    package init(app: String, installation: String, at: ReportTime) {
        (self.app, self.installation, self.at) = (app, installation, at)
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("installationId", installation)
        writer.field("at", at)
    }

    package init(from record: JSONObject) {
        app = record["app"].appID()
        installation = record["installationId"].name()
        at = record["at"].reportTime()
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: JSONReader
    ) throws(RecordDecodingError) -> TokenOwnerRow {
        try unsafe read(bytes, with: reader) { TokenOwnerRow(from: $0) }
    }

    // MARK: Keys

    /// The beginning of all keys of an app.
    static func prefix(ofApp app: String) -> [UInt8] { RecordKey.join(app, keyPrefix) }

    /// Writes the key of a token's row into a reused buffer.
    package static func writeKey(
        app: String, environment: Environment, tokenHash: String, to bytes: inout [UInt8]
    ) {
        bytes.removeAll(keepingCapacity: true)
        RecordKey.append(app, to: &bytes)
        bytes.append(RecordKey.separator)
        bytes.append(contentsOf: keyPrefix.utf8)
        bytes.append(contentsOf: environment.rawValue.utf8)
        bytes.append(UInt8(ascii: ":"))
        RecordKey.append(tokenHash, to: &bytes)
    }

    /// Whether this is the key of a token's row in `installations`, or of claims in `reports`.
    package static func isKey(_ key: Span<UInt8>) -> Bool {
        for index in 0..<key.count where key[index] == RecordKey.separator {
            return index + 2 < key.count && key[index + 1] == UInt8(ascii: "t")
                && key[index + 2] == UInt8(ascii: ":")
        }
        return false
    }
}
