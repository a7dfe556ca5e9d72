internal import Lifecycle
package import LiveActivity

// The arrival of sheets.
extension SenderCore {
    /// Handles a sheet that was read.
    package mutating func arrived(
        _ record: SheetRecord, from topic: JobTopic, lane number: Int32, at offset: Int64, _ moment: Moment
    ) {
        self.moment = moment
        guard let lane = laneInHand(number, bringing: offset, from: topic) else { return }
        guard lane.tracks[topic.rawValue].takes(record, at: moment) else {
            mustSteer = true
            return
        }
        guard lane.tracks[topic.rawValue].tracker.began(offset) else { return }
        let group = record.head.group.map { superseded.name(app: record.head.app, group: $0) }
        let app = app(AppFlow.Name(app: record.head.app, environment: record.head.environment))
        let sheet = Sheet(record, topic, at: offset, in: lane, of: app, group: group)
        keep(sheet)
        lane.tracks[topic.rawValue].ahead.append(sheet)
        sheetsAhead += 1
        mustSteer = true
        grant(lane, topic)
    }

    /// Handles a record that cannot be read as a sheet.
    package mutating func arrived(_ malformed: MalformedSheet, lane number: Int32, _ moment: Moment) {
        self.moment = moment
        guard let lane = laneInHand(number, bringing: malformed.offset, from: malformed.topic),
            !lane.tracks[malformed.topic.rawValue].isWaiting,
            lane.tracks[malformed.topic.rawValue].tracker.began(malformed.offset)
        else { return }
        order(.malformed(malformed), of: nil, lines: LineSet(), in: lane)
    }

    /// Returns the lane that takes a record. Returns nil if the record was read before, or if the lane is
    /// given up and its next owner reads the record.
    private func laneInHand(_ number: Int32, bringing offset: Int64, from topic: JobTopic) -> Lane? {
        guard let lane = lanes[number], !lane.isLeaving,
            offset >= lane.tracks[topic.rawValue].tracker.position
        else { return nil }
        lane.tracks[topic.rawValue].endSeen = nil
        return lane
    }

    /// Handles the end of a topic's partition: everything below the offset was read.
    package mutating func reachedEnd(of topic: JobTopic, lane number: Int32, at offset: Int64) {
        guard let lane = lanes[number], lane.hasBegun, !lane.isLeaving, !lane.tracks[topic.rawValue].isWaiting
        else { return }
        lane.tracks[topic.rawValue].tracker.reached(offset)
        if lane.isSettled {
            lane.tracks[topic.rawValue].caughtUpAt = lane.tracks[topic.rawValue].caughtUpAt ?? offset
        } else {
            lane.tracks[topic.rawValue].endSeen = offset
        }
    }

    /// Returns the offset from which a topic of a lane is read, or nil if the lane is not in hand.
    package func position(of topic: JobTopic, lane number: Int32) -> Int64? {
        lanes[number]?.tracks[topic.rawValue].tracker.position
    }

    /// Handles a gap: the topic no longer has the sheets below the offset.
    package mutating func skipped(to offset: Int64, of topic: JobTopic, lane number: Int32) {
        lanes[number]?.tracks[topic.rawValue].tracker.reached(offset)
    }

    /// Confirms the ends that were reached while an earlier owner settled. The worker calls this after it has
    /// handed over everything that was fetched. If no record followed such an end, it is still the end. The
    /// consumer does not report the same end twice.
    package mutating func readAllFetched() {
        guard hasEndsSeen else { return }
        hasEndsSeen = false
        for lane in lanes.values where lane.isSettled {
            for topic in JobTopic.allCases where lane.tracks[topic.rawValue].caughtUpAt == nil {
                lane.tracks[topic.rawValue].caughtUpAt = lane.tracks[topic.rawValue].endSeen
            }
        }
    }

    private mutating func app(_ name: AppFlow.Name) -> AppFlow {
        if let known = apps[name] { return known }
        let app = AppFlow(name, number: UInt64(rotation.count) + 1)
        apps[name] = app
        rotation.append(app)
        return app
    }

    private mutating func keep(_ sheet: Sheet) {
        if let slot = freeSlots.popLast() {
            slots[slot] = sheet
            sheet.slot = slot
        } else {
            sheet.slot = slots.count
            slots.append(sheet)
        }
        handRoom.add(sheet.cost, of: sheet.topic)
        sheet.lane.sheets += 1
        sheet.app.sheets += 1
    }

    /// Begins the sheets that may be begun, in order.
    mutating func grant(_ lane: Lane, _ topic: JobTopic) {
        guard lane.mayPush else { return }
        while let sheet = lane.tracks[topic.rawValue].ahead.first,
            sheet.offset < lane.tracks[topic.rawValue].grantedBelow
        {
            lane.tracks[topic.rawValue].ahead.removeFirst()
            sheetsAhead -= 1
            mustSteer = true
            if lane.isHeld(sheet) { lane.held.append(sheet) } else { admit(sheet) }
        }
    }

    mutating func admit(_ sheet: Sheet) {
        let lane = sheet.lane
        let track = lane.tracks[sheet.topic.rawValue]
        sheet.asksLedger = sheet.originLines != nil || sheet.offset < track.touchedBelow
        if sheet.asksLedger, lane.ledger.knows(sheet.place) {
            lane.tracks[sheet.topic.rawValue].tracker.wrote(sheet.offset, receiptsFrom: track.receiptsFrom)
            heed(lane.ledger, sheet)
        }
        sheet.ledgerSeen = lane.ledger.revision
        if let group = sheet.group {
            keep(sheet, of: group)
            if superseded.learn(sheet.head, group) { dropStale(group) }
        }
        sheet.nameActivities(seed: seed)
        for activity in sheet.activities { newest.saw(sheet.head.version, of: activity) }
        dropIfStale(sheet)
        if sheet.unfinished == 0 { return finish(sheet) }
        if sheet.undecided == 0 { return }
        sheet.app.enqueue(sheet, seed: seed)
    }

    /// Takes over the outcomes that an earlier owner stored.
    private mutating func heed(_ ledger: Ledger, _ sheet: Sheet) {
        for line in 0..<sheet.lineCount {
            switch ledger.standing(of: sheet.originLine(line), at: sheet.place, attempt: sheet.attempt) {
            case .open: break
            case .done: skip(sheet, line)
            case .intended:
                if sheet.head.event == .start, sheet.head.onUnknownStart == .skip {
                    decide(sheet, line, as: .final(.unknown, status: nil, reason: "interrupted"))
                }
            }
        }
    }

    // MARK: Newer versions

    /// Handles a record of `superseded`.
    package mutating func noted(_ note: SupersededNote, _ moment: Moment) {
        self.moment = moment
        if let group = superseded.note(note) { dropStale(group) }
    }

    /// Handles the end of `superseded`: the view is complete.
    package mutating func informed() { isInformed = true }

    private mutating func dropStale(_ group: Fingerprint) {
        // A sheet leaves the list when it is dropped, so the loop needs a copy.
        let sheets = sheetsOfGroup[group]?.sheets ?? []
        breakOff(sheets)
        for sheet in sheets { dropIfStale(sheet) }
    }

    /// Marks passes that a newer state breaks off. The sheets of the newer state continue them.
    private func breakOff(_ sheets: [Sheet]) {
        var overtaken = sheets.filter { sheet in
            sheet.lineCount > 1 && sheet.isQueued && !sheet.isOver && sheet.isOfPass
                && superseded.staleness(of: sheet.head, sheet.group) == .newer
        }
        // The phones of one group may belong to two environments.
        while let app = overtaken.first?.app {
            app.usual.breakOff(overtaken.filter { $0.app === app }, seed: seed)
            overtaken.removeAll { $0.app === app }
        }
    }

    private mutating func keep(_ sheet: Sheet, of group: Fingerprint) {
        let list: GroupSheets
        if let known = sheetsOfGroup[group] {
            list = known
        } else {
            list = GroupSheets()
            sheetsOfGroup[group] = list
        }
        list.add(sheet)
    }

    /// Drops the unsent lines of a sheet that a newer send or a cancellation replaces. Returns whether the
    /// sheet is stale.
    @discardableResult
    mutating func dropIfStale(_ sheet: Sheet) -> Bool {
        guard sheet.undecided > 0,
            let staleness = superseded.staleness(of: sheet.head, sheet.group)
        else { return false }
        decideUnsent(
            sheet, as: .final(.superseded, status: nil, reason: staleness.rawValue))
        return true
    }
}
