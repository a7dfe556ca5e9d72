internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat

/// The claims of start tokens that the reports of the current transaction cause, by the record that each goes into.
/// Together they cost less than a record for each claim.
struct PendingClaims {
    private struct Destination: Hashable {
        let app: String
        let environment: Environment
        let partition: Int32
    }

    private var claims: [Destination: [TokenClaims.Claim]] = [:]

    mutating func add(
        _ claim: TokenClaims.Claim, app: String, environment: Environment, partition: Int32
    ) {
        let destination = Destination(app: app, environment: environment, partition: partition)
        claims[destination, default: []].append(claim)
    }

    mutating func removeAll() { claims.removeAll(keepingCapacity: true) }

    /// Passes the records to `send`, and removes them.
    mutating func takeRecords(_ send: (_ key: [UInt8], _ value: Span<UInt8>, _ partition: Int32) -> Void) {
        var writer = JSONWriter(capacity: 64 << 10)
        for (destination, claims) in claims {
            for start in stride(from: 0, to: claims.count, by: TokenClaims.countMax) {
                let end = min(start + TokenClaims.countMax, claims.count)
                let record = TokenClaims(
                    app: destination.app, environment: destination.environment,
                    claims: Array(claims[start..<end]))
                record.encode(to: &writer)
                unsafe writer.withBytes { bytes in
                    send(record.key, unsafe Span(_unsafeBytes: bytes), destination.partition)
                }
            }
        }
        removeAll()
    }
}
