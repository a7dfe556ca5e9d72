internal import Jobs
internal import Lifecycle
internal import Payloads
internal import Sends

// The arrival of sheets, their begin, and the newer versions that drop them. A sheet begins when the window has reached
// it: then its lines may leave.
extension DeliveryPlan {
    /// Handles a sheet that was read.
    package mutating func arrived(
        _ record: SheetRecord, from topic: JobTopic, lane number: Int32, offset: Int64, at time: CurrentTime
    ) {
        self.time = time
        guard let lane = lanes.lane(number, taking: offset, from: topic) else { return }
        guard lane[topic].accepts(record, at: time) else { return lanes.noteDeferredSheet() }
        guard lane[topic].markRead(offset) else { return }
        let head = record.head
        let group = head.group.map { versions.fingerprint(app: head.app, group: $0) }
        let app = queues.app(AppEnvironment(app: head.app, environment: head.environment))
        let sheet = Sheet(record, from: topic, at: offset, in: lane, of: app, group: group)
        sheets.add(sheet)
        begin(lanes.append(sheet))
    }

    /// Handles a record that cannot be read as a sheet.
    package mutating func arrived(_ malformed: MalformedSheet, lane number: Int32, at time: CurrentTime) {
        self.time = time
        let topic = malformed.topic
        guard let lane = lanes.lane(number, taking: malformed.offset, from: topic),
            !lane[topic].waitsForDeferredSheet, lane[topic].markRead(malformed.offset)
        else { return }
        records.order(
            .malformed(malformed), of: nil, lines: LineSet(), in: lane, at: time, into: &actions)
    }

    /// Begins sheets that may be begun, in order.
    mutating func begin(_ sheets: [Sheet]) { for sheet in sheets { begin(sheet) } }

    /// Begins a sheet: compares it with the receipts of earlier owners and with the newest versions, and queues it if
    /// lines are left.
    private mutating func begin(_ sheet: Sheet) {
        let lane = sheet.lane
        sheet.needsLedger = lane.mayHaveReceipts(about: sheet)
        // Earlier owners may have stored outcomes of the sheet.
        if sheet.needsLedger, lane.ledger.knows(sheet.originPosition) {
            let receiptsFrom = lane[sheet.topic].earlierSheets.receiptsFrom
            lane[sheet.topic].noteReceipts(about: sheet.offset, from: receiptsFrom)
            takeOverOutcomes(of: sheet)
        }
        sheet.comparedLedgerRevision = lane.ledger.revision
        // Its version may make other sheets stale.
        sheet.computeActivities(seed: seed)
        if let group = sheet.group { sheets.addBegun(sheet, of: group) }
        if let group = versions.merge(sheet) { dropStaleSheets(of: group) }
        // It may be stale itself.
        dropIfStale(sheet)
        dropErasedLines(of: sheet)
        if sheet.unfinishedLines == 0 { return sheets.remove(sheet) }
        if sheet.undecidedLines == 0 { return }
        sheet.app.sheets.enqueue(sheet, seed: seed)
    }

    /// Takes over the outcomes that an earlier owner stored.
    private mutating func takeOverOutcomes(of sheet: Sheet) {
        for line in 0..<sheet.lineCount {
            switch sheet.recordedProgress(of: line) {
            case .notRecorded: break
            case .done: skip(sheet, line: line)
            case .intentStored:
                // The start may have left. With another policy it is sent again.
                if sheet.head.event == .start, sheet.head.unknownStartPolicy == .skip {
                    decide(sheet, line: line, as: .final(.unknown, status: nil, reason: "interrupted"))
                }
            }
        }
    }

    // MARK: Newer versions

    /// Drops the sheets of a group that a newer version or a cancellation has made stale.
    mutating func dropStaleSheets(of group: Fingerprint) {
        // A sheet leaves the list when it is dropped, so the loop needs a copy.
        let groupSheets = sheets.sheets(of: group)
        interruptPasses(of: groupSheets)
        for sheet in groupSheets { dropIfStale(sheet) }
    }

    /// Notes where a newer state interrupts passes: the pushes of one update through a lane. The sheets of the newer
    /// state continue them.
    private func interruptPasses(of sheets: [Sheet]) {
        var overtaken = sheets.filter { sheet in
            let isUnderWay = sheet.isQueued && !sheet.isOver
            return isUnderWay && sheet.lineCount > 1 && sheet.isPartOfPass
                && versions.staleness(of: sheet) == .newer
        }
        // The phones of one group may belong to two environments.
        while let app = overtaken.first?.app {
            app.sheets.interruptPasses(of: overtaken.filter { $0.app === app }, seed: seed)
            overtaken.removeAll { $0.app === app }
        }
    }

    /// Drops the waiting lines of a sheet if it is stale. Returns whether it is.
    @discardableResult
    mutating func dropIfStale(_ sheet: Sheet) -> Bool {
        guard sheet.undecidedLines > 0, let staleness = versions.staleness(of: sheet) else { return false }
        decideWaiting(sheet, as: .final(.superseded, status: nil, reason: staleness.rawValue))
        return true
    }
}
