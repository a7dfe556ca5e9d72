internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// The disk has no room: every view waits, because they share it.
struct Blockage {
    var retryAt: Instant
    var why: String
}

extension IngestLoop {
    /// How long a disk without room is left alone.
    static let retryMilliseconds = 1000
    /// Installations of which a repetition is known in memory alone; those that a kill makes forget it.
    static let repeatedRowsMax = 10_000

    // MARK: Opening

    /// One file a turn: a large one is read through before it is believed, and a member must poll.
    ///
    /// - Returns: whether all are open.
    func openNextView() throws -> Bool {
        let closed = owned.keys.filter { files[$0] == nil }.sorted()
        guard let number = closed.first else { return true }
        guard let view = try open(number) else { return false }
        files[number] = view
        isOpening = closed.count > 1
        return !isOpening
    }

    private func open(_ number: Int32) throws -> InstallationView? {
        let place = Kafka.TopicPartition(installationsTopic, number)
        do throws(StoreError) {
            var view = try makeView(place)
            if let reason = try whyOutdated(view) {
                try view.condemn(reason)
                view = try makeView(place)
            }
            tell(view)
            onStep(.viewOpened)
            return view
        } catch {
            guard error.passes else { throw error }
            block(error)
            return nil
        }
    }

    private func makeView(_ place: Kafka.TopicPartition) throws(StoreError) -> InstallationView {
        try InstallationView(
            place, directory: "\(stateDirectory)/installations-\(place.partition)", cluster: cluster,
            deleteRetentionMilliseconds: TopicLayout.deleteRetentionMilliseconds,
            limits: settings.viewLimits, now: WallTime(milliseconds: decisionTime), boot: boot)
    }

    /// A file that has been further than its topic goes is of a topic that was deleted and made again.
    private func whyOutdated(_ view: InstallationView) throws(StoreError) -> String? {
        guard view.applied > 0, let ends = writer.ends(of: view.place) else { return nil }
        if view.applied > ends.high {
            return "it has offset \(view.applied) of \(view.place), which ends at \(ends.high)"
        }
        if view.applied < ends.low {
            return "it has offset \(view.applied) of \(view.place), which begins at \(ends.low)"
        }
        return nil
    }

    private func tell(_ view: InstallationView) {
        metrics.opened(view.beginning)
        switch view.beginning {
        case .discarded(let reason):
            log.warning(
                "view discarded, it is built anew from its topic", .field("partition", view.place.partition),
                .field("reason", reason.description))
        case .empty, .resumed:
            log.debug(
                "view opened", .field("partition", view.place.partition), .field("offset", view.applied))
        }
    }

    func close(_ view: InstallationView) throws {
        do throws(StoreError) {
            try view.close()
        } catch {
            log.warning(
                "view not closed in order; it is looked at more closely at the next start",
                .field("partition", view.place.partition), .field("error", error))
        }
    }

    // MARK: Reading

    /// Takes what the topic has, and enters it.
    func readViews(waitMilliseconds: Int32) throws {
        if blocked != nil { return }
        let events = installations.poll(into: &viewBatch, waitMilliseconds: waitMilliseconds)
        var touched = Set<Int32>()
        for index in 0..<viewBatch.count {
            let record = viewBatch[index]
            guard let view = files[record.partition] else { continue }
            view.take(record)
            touched.insert(record.partition)
        }
        viewBatch.clear()
        var ended: [Int32] = []
        for event in events {
            switch event {
            case .end(let place, let offset):
                files[place.partition]?.reached(offset, now: WallTime(milliseconds: decisionTime))
                touched.insert(place.partition)
                ended.append(place.partition)
            case .failed(.outOfRange(let place, let text)):
                try rebuild(place.partition, .corrupt(path: place.description, what: text))
                return
            case .failed(.rebuild(let error)), .failed(.fenced(let error)):
                throw StageFailure.client(error.description)
            case .failed(let failure):
                log.warning("installations cannot be read now", .field("error", failure))
            default: break
            }
        }
        for number in touched { try settle(number) }
        for number in ended { finishRestoring(number) }
    }

    func settle(_ number: Int32) throws {
        guard let view = files[number], blocked == nil else { return }
        do throws(StoreError) {
            try view.settle { key in owned[number]?.overlay.applied(key) }
            metrics.applied(number).set(Double(view.applied))
            onStep(.viewSettled)
        } catch {
            if error.passes { return block(error) }
            try rebuild(number, error)
        }
    }

    var repeatedRows: Int { owned.values.reduce(0) { $0 + $1.overlay.repeatedCount } }

    /// Hands the views what was repeated. It follows from records that they have read, so it is right there
    /// whoever owns the partitions next: what others commit lies behind, and is read over it.
    func keepRepeated() throws {
        for number in owned.keys {
            guard let view = files[number], blocked == nil, owned[number]?.overlay.repeatedCount != 0 else {
                continue
            }
            owned[number]?.overlay.takeRepeated { key, record in view.keep(key.bytes.span, record.span) }
            if view.pending > 0 { try settle(number) }
        }
    }

    /// The end of a reader of committed records is where the oldest open transaction begins. What the
    /// partition's last owner committed can lie behind that, its marker still on the way: so the view is
    /// complete only when it has come to the end of everything that was written.
    private func finishRestoring(_ number: Int32) {
        guard let view = files[number], let own = owned[number], !mustStartOver, view.pending == 0,
            let ends = installations.knownWatermarks(of: view.place), view.applied >= ends.high
        else { return }
        let now = Instant.now()
        owned[number]?.overlay.reachedEnd(at: now)
        guard own.condition == .restoring else { return }
        guard resumeReports(number) else { return }
        owned[number]?.condition = .serving
        pauseMilliseconds = 0
        metrics.restoreSeconds.observe(now.seconds(since: own.restoringSince))
        onStep(.restored)
    }

    /// A pause remembers a position of its own, of before; so the right one is set once more behind it.
    private func resumeReports(_ number: Int32) -> Bool {
        let place = Kafka.TopicPartition(reportsTopic, number)
        let committed = owned[number]?.committed
        reportEnds[number] = nil
        reports.resume([place])
        do {
            let start = PartitionStart(place, committed.map { .offset($0) } ?? .beginning)
            try reports.seek([start], withinMilliseconds: Self.askMilliseconds)
            return true
        } catch {
            log.warning("cannot go on with reports now; trying again", .field("error", error))
            startOverLater()
            return false
        }
    }

    // MARK: Trouble

    /// Waits for room on the disk. The membership goes on, and so nobody else gets a disk that may be
    /// as full.
    func block(_ error: StoreError) {
        log.error("no room for the state of this process; reports wait", .field("error", error))
        blocked = Blockage(
            retryAt: Instant.now().advanced(byMilliseconds: Self.retryMilliseconds), why: error.description)
        startOverLater()
    }

    func retryBlocked(_ now: Instant) throws {
        guard let blockage = blocked, now >= blockage.retryAt else { return }
        blocked = nil
        for number in files.keys.sorted() where blocked == nil { try settle(number) }
        if blocked == nil { _ = try openNextView() }
        if blocked == nil { log.info("there is room again; reports go on") }
    }

    /// The file is not what was written. It is a cache: it goes, and is read anew from its topic.
    func rebuild(_ number: Int32, _ error: StoreError) throws {
        guard error.isCorruption else { throw error }
        log.warning(
            "view is damaged, it is built anew from its topic", .field("partition", number),
            .field("error", error))
        if let view = files.removeValue(forKey: number) { try view.condemn(error.description) }
        startOverLater()
    }
}
