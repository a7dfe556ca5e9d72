package import Lifecycle
package import LiveActivity

// The assignment and loss of lanes.
extension SenderCore {
    /// Handles lanes that the group assigned. Reading begins with `orders.resumes`.
    package mutating func assigned(_ starts: [LaneStart]) {
        releaseBy = nil
        mustSteer = true
        for start in starts {
            let lane = Lane(start, window: limits.window, ledgerSheetsMax: limits.ledgerSheetsMax)
            lanes[start.lane] = lane
            if orphans.contains(where: { $0.number == start.lane }) {
                lane.phase = .awaitingOrphan
            } else {
                read(lane)
            }
        }
    }

    private mutating func read(_ lane: Lane) {
        lane.phase = .reading
        orders.reads.append(SenderOrders.Read(lane: lane.number, from: lane.receiptsFrom))
    }

    /// Handles a record of `receipts` that was read for `orders.reads`.
    package mutating func found(_ receipt: Receipt, lane number: Int32) {
        guard let lane = lanes[number] else { return }
        lane.hasFoundReceipts = true
        if lane.isPast(receipt) { return lane.ledger.notePast(receipt.place, receipt.parts) }
        lane.ledger.note(receipt.place, attempt: receipt.attempt, receipt.parts, isNews: true)
    }

    /// Handles the end of `receipts`: everything up to the end at the time of the request was read.
    package mutating func foundAll(lane number: Int32, end: Int64, _ moment: Moment) {
        self.moment = moment
        guard let lane = lanes[number] else { return }
        lane.receiptsEnd = max(lane.receiptsEnd, end)
        lane.readUntil = max(lane.readUntil, end)
        lane.hasBegun = true
        mustSteer = true
        switch lane.phase {
        case .reading:
            let unsettled = JobTopic.allCases.filter { lane.isUnsettled($0, endingAt: end) }
            if unsettled.isEmpty {
                open(lane)
            } else {
                let until = moment.now.advanced(byMilliseconds: limits.settleMilliseconds)
                lane.phase = .settling(until: until)
                isSettling = true
                orders.notes.append(
                    .settling(lane: number, milliseconds: limits.settleMilliseconds))
            }
        case .rereading: open(lane)
        case .awaitingOrphan, .settling, .open, .releasing, .orphaned: return
        }
        for topic in JobTopic.allCases { grant(lane, topic) }
    }

    private mutating func open(_ lane: Lane) {
        lane.phase = .open
        lane.isSettled = true
        hasEndsSeen = true
        orders.notes.append(.opened(lane: lane.number))
        let held = lane.held
        lane.held = []
        for sheet in held { admit(sheet) }
    }

    /// Starts the next phase of lanes whose settling time is over, and of lanes whose orphans are drained.
    mutating func settleLanes() {
        if !orphans.isEmpty {
            orphans.removeAll { $0.isDrained }
            for lane in lanesInOrder where lane.phase == .awaitingOrphan {
                if !orphans.contains(where: { $0.number == lane.number }) { read(lane) }
            }
        }
        guard isSettling else { return }
        isSettling = false
        for lane in lanesInOrder {
            guard case .settling(let until) = lane.phase else { continue }
            if moment.now < until {
                isSettling = true
                continue
            }
            lane.phase = .rereading
            // The read does not start at the end of our own receipts, because the earlier owner's last
            // receipts lie before some of ours.
            orders.reads.append(SenderOrders.Read(lane: lane.number, from: lane.readUntil))
        }
    }

    // MARK: Giving up

    /// Gives up the lanes at the group's request. Pushes in flight finish, and the next owner takes the rest.
    package mutating func revoked(by deadline: Instant, _ moment: Moment) {
        self.moment = moment
        for lane in lanesInOrder {
            lane.phase = .releasing
            leave(lane)
        }
        releaseBy = deadline
    }

    /// Handles lanes that already belong to another process.
    package mutating func lost(_ moment: Moment) {
        self.moment = moment
        for lane in lanesInOrder {
            lane.phase = .orphaned
            leave(lane)
        }
        letGo()
    }

    /// The lanes in a fixed order, so that a simulation repeats exactly with the same seed.
    private var lanesInOrder: [Lane] { lanes.values.sorted { $0.number < $1.number } }

    private mutating func letGo() {
        // A process that was suspended does not know since when the lanes belong to another process.
        let handsOnFor = mustConfirm ? 0 : limits.settleMilliseconds / 2
        for lane in lanesInOrder where !lane.isDrained {
            lane.phase = .orphaned
            lane.handsOnUntil = moment.now.advanced(byMilliseconds: handsOnFor)
            orphans.append(lane)
        }
        lanes.removeAll()
        commitsAsked = []
        isLastCommitAsked = false
        mustConfirm = false
        releaseBy = nil
        orders.isReleased = true
    }

    private mutating func leave(_ lane: Lane) {
        mustSteer = true
        for sheet in slots.compactMap({ $0 }) where sheet.lane === lane {
            for line in 0..<sheet.lineCount {
                switch sheet.states[line].step {
                case .queued, .parked, .waiting: abandon(sheet, line)
                case .inFlight: orders.withdrawals.append(tag(sheet, line))
                case .intending, .late, .answered, .writing, .done: break
                }
            }
            finishIfDone(sheet)
        }
        lane.held = []
        for topic in JobTopic.allCases {
            sheetsAhead -= lane.tracks[topic.rawValue].ahead.count
            lane.tracks[topic.rawValue].ahead = Queue()
        }
    }

    /// Commits the last offsets when every lane is drained or the deadline has passed.
    mutating func release() {
        guard let releaseBy, !isLastCommitAsked else { return }
        guard lanes.values.allSatisfy(\.isDrained) || moment.now >= releaseBy else { return }
        isLastCommitAsked = true
        orders.isLastCommit = true
        commitsAsked = []
        for lane in lanesInOrder {
            if !lane.isDrained { orders.notes.append(.drainedLate(lane: lane.number)) }
            // If nothing was begun, the earlier owner's note stays valid.
            guard lane.hasBegun else { continue }
            for topic in JobTopic.allCases { askCommit(lane, topic, isEnding: lane.isDrained) }
        }
        orderCommits()
    }

    // MARK: Offsets

    /// Commits advanced offsets at intervals, and sooner if sheets wait for the commit.
    mutating func commit() {
        guard commitsAsked.isEmpty, releaseBy == nil, !lanes.isEmpty else { return }
        // A confirmation also commits offsets that have not changed, to learn whether the lanes are still
        // ours.
        let confirms = mustConfirm && moment.now >= nextConfirm
        if confirms {
            nextConfirm = moment.now.advanced(byMilliseconds: limits.commitMilliseconds)
        }
        let isDue = moment.now >= nextCommit || confirms
        if isDue {
            nextCommit = moment.now.advanced(byMilliseconds: limits.commitMilliseconds)
        } else if sheetsAhead == 0 {
            return
        }
        for lane in lanes.values {
            let leavesWord = lane.leavesWord
            for topic in JobTopic.allCases {
                let track = lane.tracks[topic.rawValue]
                let isNew = track.tracker.base > track.committed && (isDue || !track.ahead.isEmpty)
                if isNew || confirms && lane.hasBegun
                    || lane.wantsWindow(topic, limits.window) || leavesWord && track.needsOwnNote
                    || isDue && isNoteOld(lane, topic)
                {
                    askCommit(lane, topic, isEnding: false)
                }
            }
        }
        if !commitsAsked.isEmpty { orderCommits() }
    }

    private mutating func orderCommits() {
        commitNumber += 1
        // The order of the commits decides the order in which lanes begin.
        commitsAsked.sort { ($0.lane, $0.topic.rawValue) < ($1.lane, $1.topic.rawValue) }
        orders.commits = commitsAsked
        orders.commitNumber = commitNumber
    }

    /// Whether a successor would read many more receipts than needed. This also covers a topic without
    /// traffic, which has no other reason to commit.
    private func isNoteOld(_ lane: Lane, _ topic: JobTopic) -> Bool {
        let old = lane.tracks[topic.rawValue].notedFrom + limits.noteBehindMax
        guard lane.phase == .open, lane.receiptsEnd > old else { return false }
        return lane.note(of: topic, window: limits.window, isEnding: false).receiptsFrom > old
    }

    /// Handles a suspension of the process so long that the lanes may belong to another process. No push
    /// leaves without a lease. Offsets are committed, new or not, to see whether the group still accepts
    /// them.
    package mutating func suspended() {
        leaseUntil = Instant(nanoseconds: 0)
        mustConfirm = true
        nextConfirm = Instant(nanoseconds: 0)
    }

    private mutating func askCommit(_ lane: Lane, _ topic: JobTopic, isEnding: Bool) {
        commitsAsked.append(
            SenderOrders.Commit(
                lane: lane.number, topic: topic, offset: lane.tracks[topic.rawValue].tracker.base,
                note: lane.note(of: topic, window: limits.window, isEnding: isEnding)))
    }

    /// Handles the result of the commits with this number.
    package mutating func committed(_ number: Int, isDone: Bool, _ moment: Moment) {
        self.moment = moment
        guard number == commitNumber else { return }
        let asked = commitsAsked
        commitsAsked = []
        if isLastCommitAsked { return letGo() }
        guard isDone else { return }
        for commit in asked {
            guard let lane = lanes[commit.lane] else { continue }
            lane.tracks[commit.topic.rawValue].committed = commit.offset
            lane.tracks[commit.topic.rawValue].notedFrom = commit.note.receiptsFrom
            lane.tracks[commit.topic.rawValue].grantedBelow = commit.offset + commit.note.window
            grant(lane, commit.topic)
        }
    }

    // MARK: Reading

    /// Pauses and resumes partitions. A partition is paused while its sheets may not be begun or are not due,
    /// and while the memory for sheets is full.
    mutating func steer() {
        let isRoomNew = handRoom.look()
        guard mustSteer || isRoomNew || moment.now >= nextTier else { return }
        mustSteer = false
        nextTier = .distantFuture
        for lane in lanes.values {
            for topic in JobTopic.allCases { steer(lane, topic) }
        }
    }

    private mutating func steer(_ lane: Lane, _ topic: JobTopic) {
        let track = lane.tracks[topic.rawValue]
        // The consumer has read past the sheet that is not due. The partition must be paused before it can
        // seek back.
        let isWaiting = track.next.map { $0.dueAt > moment.now || !track.isPaused } ?? false
        if isWaiting, let next = track.next { nextTier = min(nextTier, next.dueAt) }
        let isPaused =
            isWaiting || handRoom.isFull(for: topic) || !lane.mayPush || !track.ahead.isEmpty
        if isPaused == track.isPaused { return }
        lane.tracks[topic.rawValue].isPaused = isPaused
        if isPaused {
            orders.pauses.append(SenderOrders.Flow(lane: lane.number, topic: topic))
        } else {
            let from = track.isWaiting ? track.tracker.position : nil
            lane.tracks[topic.rawValue].goOn()
            orders.resumes.append(SenderOrders.Resume(lane: lane.number, topic: topic, from: from))
        }
    }
}

extension Lane {
    /// Remembers a record in a tier that may be stored twice, or whose jobs may have another record.
    func hold(_ topic: JobTopic, at offset: Int64?, receiptsFrom: Int64) {
        if let offset { return tracks[topic.rawValue].twins.add(offset, receiptsFrom: receiptsFrom) }
        // The offset is unknown. The record lies before the next end that is reached, and before every record
        // ordered from now on.
        tracks[topic.rawValue].caughtUpAt = nil
        tracks[topic.rawValue].ownFrom = nil
        tracks[topic.rawValue].unplaced += 1
        tracks[topic.rawValue].receiptsFrom = min(tracks[topic.rawValue].receiptsFrom, receiptsFrom)
    }

    /// Whether a receipt is about a first attempt of a sheet below the committed offset. Only a twin of its
    /// jobs can need it.
    func isPast(_ receipt: Receipt) -> Bool {
        guard receipt.attempt == 1, receipt.place.partition == number,
            let topic = JobTopic.allCases.first(where: { $0.word == receipt.place.topic })
        else { return false }
        return receipt.place.offset < tracks[topic.rawValue].committed
    }
}
