import Identifiers
import InstallationRecords
import RecordFormat
import Simulation
import Store
import Telemetry

@testable import Registry

/// A random history of a lane: records, commits, deaths, and offsets at which another process continues. The consumer
/// group commits the ends of the lane's commits.
final class ChangesHistory {
    /// The kinds of the reported changes, by the name of the row.
    typealias Changes = [String: Set<String>]

    private let directory: String
    private(set) var lane: Lane
    private var maker: RowMaker
    private var records: [(key: RegistryKey, row: TokenRow?)] = []
    /// The number of records that the lane has applied.
    private var appliedCount = 0
    /// The offset that the group has committed.
    private var committedCount = 0
    /// The rows of the applied records.
    private var model = RegistryModel()
    /// The ends of the lane's commits, with the keys of the changes that each has reported.
    private var commits: [(end: Int, keys: Set<RegistryKey>)] = [(0, [])]

    init(seed: UInt64, directory: String) throws {
        maker = RowMaker(random: SeededGenerator(seed: seed &* 77))
        self.directory = directory
        lane = try openLane(directory)
        lane.changesReportedFrom = 0
    }

    /// Writes records, sometimes lets the group commit or another process continue, and commits the lane. Returns the
    /// reported changes, and those that must be reported.
    func step() throws -> (reported: Changes, expected: Changes) {
        for _ in 0..<maker.random.number(below: 8) {
            records.append((maker.key(), maker.random.number(below: 4) == 0 ? nil : maker.row()))
        }
        if maker.random.number(below: 2) == 0 { commitInGroup() }
        let next = maker.random.number(below: 4) == 0 ? try continueInOtherProcess() : appliedCount
        // The group has not committed these changes, so records that are read again report them again.
        let keysToRepeat = commits.filter { $0.end > committedCount }.reduce(into: Set()) {
            $0.formUnion($1.keys)
        }
        let previousModel = model
        var (repeatedKeys, newKeys) = (Set<RegistryKey>(), Set<RegistryKey>())
        for offset in next..<records.count {
            let (key, row) = records[offset]
            try lane.apply(row?.encoded(), to: key, offset: Int64(offset))
            if offset >= appliedCount {
                model.tokens[key] = row
                newKeys.insert(key)
            } else if offset >= committedCount {
                repeatedKeys.insert(key)
            }
        }
        appliedCount = records.count
        let reported = try commitLane()
        let expected = expectedChanges(
            newKeys: newKeys, repeatedKeys: repeatedKeys.intersection(keysToRepeat), since: previousModel)
        return (reported, expected)
    }

    private func commitInGroup() {
        let ends = commits.map(\.end).filter { $0 >= committedCount }
        committedCount = ends[maker.random.number(below: ends.count)]
        lane.noteCommit(below: Int64(committedCount))
    }

    /// Opens the lane again, as another process does. It reports changes from the committed offset on. Returns the offset
    /// at which it reads.
    private func continueInOtherProcess() throws -> Int {
        try lane.close()
        lane = try openLane(directory)
        lane.changesReportedFrom = Int64(committedCount)
        return Int(lane.resumeOffset ?? 0)
    }

    private func commitLane() throws -> Changes {
        var changes = LaneChanges()
        try lane.commit(
            AppliedProgress(offset: Int64(appliedCount), completeUntil: .now()),
            reportingChangesInto: &changes)
        var reported: Changes = [:]
        for index in 0..<changes.count {
            let row = FoundRow(changes.row(at: index))
            reported[name(of: row, app: changes.app(at: index)), default: []].insert(
                changes.kinds(at: index).words)
        }
        return reported
    }

    /// Returns the changes of the new records, and of rows that are served again because another row of their token is
    /// gone. A repeated record reports its row as if there had been none before. Notes the commit.
    private func expectedChanges(
        newKeys: Set<RegistryKey>, repeatedKeys: Set<RegistryKey>, since previousModel: RegistryModel
    ) -> Changes {
        var expected: Changes = [:]
        var changedKeys: Set<RegistryKey> = []
        for (key, row) in model.tokens {
            var words = ""
            let isServedAgain = previousModel.isShadowed(key) && !model.isShadowed(key)
            if newKeys.contains(key) || isServedAgain {
                let old = previousModel.tokens[key].map { (previousModel, $0) }
                words = changeKinds(of: row, key: key, in: model, since: old).words
            }
            if !words.isEmpty {
                changedKeys.insert(key)
            } else if repeatedKeys.contains(key) {
                words = changeKinds(of: row, key: key, in: model, since: nil).words
            }
            if !words.isEmpty {
                expected[name(of: FoundRow(row, of: key), app: key.app), default: []].insert(words)
            }
        }
        commits.append((appliedCount, changedKeys))
        return expected
    }

    private func name(of row: FoundRow, app: String) -> String {
        "\(app)/\(row.recipient)/\(row.installation)/\(row.entry)"
    }

    /// Returns the kinds of change that a commit must report for a row, compared with its previous state.
    private func changeKinds(
        of row: TokenRow, key: RegistryKey, in model: RegistryModel,
        since old: (model: RegistryModel, row: TokenRow)?
    ) -> LaneChanges.ChangeKinds {
        func isServed(_ row: TokenRow, _ model: RegistryModel) -> Bool {
            row.dismissedAt == nil && row.activitiesEnabled != false && row.movedTo == nil
                && !model.isShadowed(key)
        }
        var kinds: LaneChanges.ChangeKinds = []
        let hadToken =
            old.map {
                isServed($0.row, $0.model) && $0.row.tokenHash == row.tokenHash
                    && $0.row.expiresAt ?? .max > row.registeredAt
            } ?? false
        if isServed(row, model), !hadToken { kinds.insert(.token) }
        if key.isUpdate, row.group != nil, !row.group.isExactlyEqual(to: old?.row.group) {
            kinds.insert(.group)
        }
        if row.dismissedAt != nil, old?.row.dismissedAt == nil { kinds.insert(.dismissal) }
        return kinds
    }
}

extension LaneChanges.ChangeKinds {
    var words: String {
        [(LaneChanges.ChangeKinds.token, "token"), (.group, "group"), (.dismissal, "dismissal")]
            .filter { contains($0.0) }.map(\.1).joined(separator: " ")
    }
}
