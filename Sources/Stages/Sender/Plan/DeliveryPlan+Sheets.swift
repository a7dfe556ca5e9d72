internal import Jobs
internal import Lifecycle
internal import Payloads
internal import Sends

// The sheets that arrive, begin, and are dropped because a newer version exists. A sheet begins when the window has
// reached it: then its lines may leave.
extension DeliveryPlan {
    /// Handles a sheet that was read.
    package mutating func arrived(
        _ record: SheetRecord, from topic: JobTopic, lane number: Int32, offset: Int64, at time: CurrentTime
    ) {
        self.time = time
        guard let lane = lanes.noteArrival(at: offset, of: topic, lane: number) else { return }
        let isTaken = lane[topic].takeOrDefer(record, at: time)
        guard isTaken else {
            // The partition is paused at the sheet, and is read again from it when it is due.
            return lanes.pausing.noteChange()
        }
        lane[topic].markRead(offset)
        let head = record.head
        let group = head.group.map { versions.fingerprint(app: head.app, group: $0) }
        let app = queues.app(AppEnvironment(app: head.app, environment: head.environment))
        let sheet = Sheet(record, from: topic, at: offset, in: lane, of: app, group: group)
        sheets.add(sheet)
        beginSheets(lanes.queueForWindow(sheet))
    }

    /// Handles a record that cannot be read as a sheet.
    package mutating func arrived(_ malformed: MalformedSheet, lane number: Int32, at time: CurrentTime) {
        self.time = time
        let topic = malformed.topic
        guard let lane = lanes.noteArrival(at: malformed.offset, of: topic, lane: number) else { return }
        // It has no due time, so it is taken, unless an earlier sheet of the tier is not due.
        if lane[topic].waitsForDeferredSheet { return }
        lane[topic].markRead(malformed.offset)
        records.order(
            .malformed(malformed), of: nil, lines: LineSet(), in: lane, at: time, into: &actions)
    }

    /// Begins the sheets that the lanes allow to begin, in order.
    mutating func beginSheets(_ sheetsInOrder: [Sheet]) { for sheet in sheetsInOrder { begin(sheet) } }

    /// Begins a sheet: compares it with the receipts of earlier owners and with the newest versions, and queues it if
    /// lines are left.
    private mutating func begin(_ sheet: Sheet) {
        let lane = sheet.lane
        sheet.needsLedger = lane.mayHaveReceipts(about: sheet)
        // Earlier owners may have stored outcomes of the sheet.
        if sheet.needsLedger, lane.ledger.hasReceipt(about: sheet.originPosition) {
            // The next owner needs these receipts too. Until the sheet is finished, the commits may not name a later
            // offset of `receipts` than the earlier owner's did.
            let receiptsFrom = lane[sheet.topic].earlierSheets.receiptsFrom
            lane[sheet.topic].noteReceipts(about: sheet.offset, from: receiptsFrom)
            takeOverOutcomes(of: sheet)
        }
        // If the ledger changes later, `pushRun` compares the sheet again.
        sheet.comparedLedgerRevision = lane.ledger.revision
        // The versions of a send to a recipient's scope are kept by activity.
        sheet.computeActivities(seed: seed)
        if let group = sheet.group { sheets.addBegun(sheet, of: group) }
        // Its version may make other sheets stale.
        if let group = versions.merge(sheet) { dropStaleSheets(of: group) }
        // It may be stale itself.
        dropIfStale(sheet)
        dropErasedLines(of: sheet)
        if sheet.unfinishedLines == 0 { return sheets.remove(sheet) }
        // All lines are decided, and their outcomes wait to be written.
        if sheet.undecidedLines == 0 { return }
        sheet.app.sheets.enqueue(sheet, seed: seed)
    }

    /// The reason in the receipt of a start that an earlier owner may have sent.
    private static let interruptedReason = "interrupted"

    /// Takes over the outcomes that an earlier owner stored.
    private mutating func takeOverOutcomes(of sheet: Sheet) {
        for line in 0..<sheet.lineCount {
            switch sheet.recordedProgress(of: line) {
            case .notRecorded: break
            case .done: skip(sheet, line: line)
            case .intentStored:
                // The start may have left. If the policy of its send is `skip`, it is not sent again.
                if sheet.head.event == .start, sheet.head.unknownStartPolicy == .skip {
                    decide(
                        sheet, line: line, as: .final(.unknown, status: nil, reason: Self.interruptedReason))
                }
            }
        }
    }

    // MARK: Newer versions

    /// Drops the sheets of a group that a newer version or a cancellation has made stale.
    mutating func dropStaleSheets(of group: Fingerprint) {
        // A dropped sheet leaves the list of the group, so the loop needs a copy of it.
        let groupSheets = sheets.sheets(of: group)
        interruptPasses(of: groupSheets)
        for sheet in groupSheets { dropIfStale(sheet) }
    }

    /// Notes where a newer update interrupts passes, so that the pass of the newer update begins there
    /// (`InterruptedPasses`).
    private func interruptPasses(of groupSheets: [Sheet]) {
        var interrupted = groupSheets.filter { sheet in
            let isUnderWay = sheet.isQueued && !sheet.isOver
            // In a sheet with one line, a pass has no place to continue at.
            return isUnderWay && sheet.lineCount > 1 && sheet.isPartOfPass
                && versions.staleness(of: sheet) == .newer
        }
        // The phones of one group may belong to two environments, so to two `AppQueues`.
        while let app = interrupted.first?.app {
            app.sheets.interruptPasses(of: interrupted.filter { $0.app === app }, seed: seed)
            interrupted.removeAll { $0.app === app }
        }
    }

    /// Drops the waiting lines of a sheet if it is stale. Returns whether it is.
    @discardableResult
    mutating func dropIfStale(_ sheet: Sheet) -> Bool {
        guard sheet.undecidedLines > 0, let staleness = versions.staleness(of: sheet) else { return false }
        decideWaiting(sheet, as: .stale(staleness))
        return true
    }
}
