internal import Identifiers
internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

// The owners of start tokens (`TokenOwner`): claims of installations, and the rows of their tokens.

extension IngestDecider {
    // MARK: Claiming

    /// Notes the claim of a token by the installation of a report. `finishRecords` sends it to the token's partition.
    func note(_ claim: TokenClaim, of report: Report) {
        guard let installation = report.installation else { return }
        note(
            TokenClaims.Claim(tokenHash: claim.tokenHash, installation: installation, at: claim.at),
            app: report.app, environment: claim.environment)
    }

    private func note(_ claim: TokenClaims.Claim, app: String, environment: Environment) {
        TokenOwnerRow.writeKey(
            app: app, environment: environment, tokenHash: claim.tokenHash, to: &tokenKey)
        let partition = Int32(Murmur2.partition(forKey: tokenKey.span, partitionCount: stage.layout.lanes))
        pendingClaims.add(claim, app: app, environment: environment, partition: partition)
    }

    /// Sends the claims of the transaction. They are acknowledged before the offsets of their reports are committed.
    func finishRecords() {
        pendingClaims.takeRecords { key, value, partition in
            forwarder.write(value, key: key, to: partition)
        }
    }

    // MARK: Deciding

    /// Decides the claims of a record over the rows of the tokens' owners, and tells the losers.
    func decideOwners(
        recordAt index: Int, of batch: borrowing RecordBatch, in installations: inout InstallationBatch,
        overlay: Overlay, view: TopicView, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        let claims: TokenClaims
        let arrival: ReportArrival
        do throws(RejectedRecord) {
            (claims, arrival) = try readClaims(batch[index])
        } catch {
            return setAside(recordAt: index, of: batch, as: error)
        }
        guard mergers.merger(for: claims.app, age: decidedAt - arrival.receivedAt) != nil else {
            return setAside(recordAt: index, of: batch, as: .unknownApp(claims.app))
        }
        for claim in claims.claims {
            TokenOwnerRow.writeKey(
                app: claims.app, environment: claims.environment, tokenHash: claim.tokenHash, to: &tokenKey)
            let hash = Murmur2.hash(of: tokenKey.span)
            guard
                Murmur2.partition(forHash: hash, partitionCount: stage.layout.lanes)
                    == installations.partition
            else {
                note(claim, app: claims.app, environment: claims.environment)
                continue
            }
            let entry = try findOrLoadOwner(
                keyHash: hash, in: &installations, overlay: overlay, view: view, snapshot: snapshot)
            let decision = TokenOwner.decide(
                claim, app: claims.app, over: installations.owners.entries[entry].row)
            if let loss = decision.loss {
                tell(loss, ofToken: claim.tokenHash, of: claims, offset: arrival.offset)
            }
            if let row = decision.row, installations.owners.setOwner(row, ofEntryAt: entry) {
                output.reserveSpaceForOwner()
            }
            outcomeCounts.claims += 1
        }
    }

    private func readClaims(_ record: borrowing Kafka.Record) throws(RejectedRecord) -> (
        claims: TokenClaims, arrival: ReportArrival
    ) {
        guard let value = record.value else { throw .emptyValue(expected: "claims of tokens") }
        guard let arrival = record.arrival else { throw .missingTimestamp }
        do throws(RecordDecodingError) {
            let claims = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe TokenClaims.decode(bytes, with: mergers.reader)
            }
            return (claims, arrival)
        } catch {
            throw RejectedRecord(error)
        }
    }

    /// Writes the report for the installation that has lost its token.
    private func tell(
        _ loss: TokenOwner.Loss, ofToken tokenHash: String, of claims: TokenClaims, offset: Int64
    ) {
        let report = loss.report(ofToken: tokenHash, app: claims.app, environment: claims.environment)
        let key = report.key
        let partition = Murmur2.partition(forKey: key.span, partitionCount: stage.layout.lanes)
        forwarder.forward(
            report.encoded().span, key: key,
            arrival: ReportArrival(receivedAt: loss.receivedAt, offset: offset), to: Int32(partition))
    }

    /// Returns the index of the entry with the key `tokenKey`. A new entry gets the newest known owner.
    private func findOrLoadOwner(
        keyHash: UInt32, in installations: inout InstallationBatch, overlay: Overlay, view: TopicView,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Int {
        if let index = installations.owners.index(of: tokenKey, hash: keyHash) { return index }
        let key = HashedKey(tokenKey)
        var row: TokenOwnerRow?
        if let record = overlay[key] {
            row = record.isEmpty ? nil : decodeOwner(record.span, of: view, in: &installations)
        } else {
            try view.lookUp(key.bytes.span, in: snapshot) { value in
                row = decodeOwner(value, of: view, in: &installations)
            }
        }
        return installations.owners.add(key: key, hash: keyHash, row: row)
    }

    private func decodeOwner(
        _ value: Span<UInt8>, of view: TopicView, in installations: inout InstallationBatch
    ) -> TokenOwnerRow? {
        do throws(RecordDecodingError) {
            return try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe TokenOwnerRow.decode(bytes, with: mergers.reader)
            }
        } catch {
            if case .unknownVersion = error { installations.newerRecord = error }
            stage.log.error(
                "the owner of a start token cannot be read; the next claim of the token makes a new one",
                .field("partition", view.topicPartition.partition), .field("error", error))
            return nil
        }
    }
}
