package import Identifiers
package import JSON
package import RecordFormat

/// Claims of start tokens by the installations that have reported them: a record of `reports` that only ingest writes and
/// reads. All claims of a record belong to tokens whose owners are decided in its partition.
package struct TokenClaims: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The maximum number of claims in one record.
    package static let countMax = 256

    package struct Claim: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var tokenHash: String
        package var installation: String
        /// The time of the report of the token.
        package var at: ReportTime

        package init(tokenHash: String, installation: String, at: ReportTime) {
            (self.tokenHash, self.installation, self.at) = (tokenHash, installation, at)
        }
    }

    package var app: String
    package var environment: Environment
    package var claims: [Claim]

    package init(app: String, environment: Environment, claims: [Claim]) {
        (self.app, self.environment, self.claims) = (app, environment, claims)
    }

    /// The key of the record. The partition follows from the claimed tokens and not from this key.
    package var key: [UInt8] { TokenOwnerRow.prefix(ofApp: app) }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("environment", environment.rawValue)
        writer.objects("claims", of: claims) { claim, writer in
            writer.field("tokenHash", claim.tokenHash)
            writer.field("installationId", claim.installation)
            writer.field("at", claim.at)
        }
    }

    package init(from record: JSONObject) {
        app = record["app"].appID()
        environment = record["environment"].environment()
        claims = record["claims"].objects(countMax: Self.countMax) {
            Claim(
                tokenHash: $0["tokenHash"].name(), installation: $0["installationId"].name(),
                at: $0["at"].reportTime())
        }
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: JSONReader
    ) throws(RecordDecodingError) -> TokenClaims {
        try unsafe read(bytes, with: reader) { TokenClaims(from: $0) }
    }
}
