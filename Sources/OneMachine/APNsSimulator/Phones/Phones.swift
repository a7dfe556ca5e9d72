internal import CatalogRecords
internal import Containers
internal import Identifiers
internal import JSON

/// The phones behind the simulated APNs: the content of each screen, and the reasons why a push had no
/// effect. It holds the state, and its extensions hold the rules: `+Delivery`, `+Start` and `+Update` for
/// pushes, `+Time` for due changes, `+UserActions`, `+Reports`, and `+Queries` for readers.
///
/// It is deterministic: the time is a parameter, the random numbers depend on a seed, and phones change only
/// when it is called. `tick` makes the changes that are due. Confined to the simulator's event loop.
///
/// In the extensions, `number` is the number of a phone, its index in `phones`. `index` is the index of an
/// activity in `activities`.
package final class Phones {
    let settings: PhoneSettings
    let stableRandom: StableRandom
    let tokens: PhoneTokens

    // Exclusivity is unchecked here and for all other state that a push accesses often, to save time. One thread
    // accesses it, and no call made during an access uses it again.
    /// The apps, one for each population.
    @safe @exclusivity(unchecked) var apps: [PhoneApp] = []
    /// The phones by number.
    @safe @exclusivity(unchecked) var phones: [Phone] = []
    /// The start tokens of all phones. `Phone.firstStartToken` is the index of the phone's first one.
    @safe @exclusivity(unchecked) var startTokens: [StartToken] = []
    /// The activities of all phones, and free slots.
    @safe @exclusivity(unchecked) var activities: [PhoneActivity] = []
    /// Index of the first free slot in `activities`, -1 for none.
    var firstFreeSlot: Int32 = -1
    /// Time at which the first phones were added, in milliseconds since 1970. An earlier process with the
    /// same seed had the same phones, and its activities have been gone since this time.
    var firstPhonesAddedAt: Int64?
    /// Number that distinguishes this process's activities from those of earlier processes.
    var processNumber: UInt16 = 0

    /// The content states of the activities.
    @safe @exclusivity(unchecked) var contents = SharedValues<RawJSON>()
    /// The names of the activities' groups.
    var groups = SharedValues<String>()
    var channels = PhoneChannels()
    @safe @exclusivity(unchecked) var decoder = PhoneDecoder()
    var names = PhoneNames()
    /// Populations, in the order of `apps`.
    var populations: [Population] = []
    /// The newest pushes that the phones received.
    @safe @exclusivity(unchecked) var receptions: Receptions

    /// Pushes that APNs stores for phones that are away, by the phone's number: one for each phone, because
    /// APNs stores one for each device and app.
    var storedPushes: [Int32: AcceptedPush] = [:]
    /// The newest update above the budget, by the activity's index.
    var throttledPushes: [Int32: AcceptedPush] = [:]
    /// The next due changes of activities.
    @safe @exclusivity(unchecked) var activityWakes = MinHeap<PhoneWake>()
    /// The returns of phones that are away.
    var phoneWakes = MinHeap<PhoneWake>()

    /// Reports that wait for the sink.
    var outgoingReports = OutgoingReports()
    /// Receiver of the phones' reports. Without it, phones send no reports.
    package var sink: (any ReportSink)?
    /// Rates of the users' random actions. Without them, users do nothing by themselves.
    package var eventRates: PhoneEventRates?
    var eventRandom: SeededRandom
    /// Time of the last call of `simulateEvents`, in milliseconds since 1970.
    var eventsSimulatedUntil: Int64 = .min

    package init(settings: PhoneSettings = PhoneSettings()) {
        self.settings = settings
        stableRandom = StableRandom(seed: settings.seed)
        tokens = PhoneTokens(seed: settings.seed, byteCount: settings.tokenByteCount)
        receptions = Receptions(countMax: settings.receptionsMax)
        eventRandom = SeededRandom(seed: settings.seed, stream: 1)
    }

    package var count: Int { phones.count }

    // MARK: Lookups

    func environment(of phone: Phone) -> Environment {
        phone.traits.contains(.sandbox) ? .sandbox : .production
    }

    /// Returns the number of start tokens of an installation of this app.
    func startTokenCount(of app: PhoneApp) -> Int { app.hasOneStartToken ? 1 : app.types.count }

    /// Returns a number that is unique across the types of all apps.
    /// - Parameters:
    ///   - app: index in `apps`.
    ///   - type: index in the types of the app.
    func typeNumber(app: UInt16, type: UInt16) -> Int { Int(app) << 16 | Int(type) }

    func type(of activity: PhoneActivity) -> ActivityType {
        apps[Int(phones[Int(activity.phone)].app)].types[Int(activity.type)]
    }

    /// Returns the indices of a phone's activities, newest first.
    func activityIndices(ofPhone number: Int) -> [Int] {
        var indices: [Int] = []
        var index = phones[number].newestActivity
        while index >= 0 {
            indices.append(Int(index))
            index = activities[Int(index)].nextIndex
        }
        return indices
    }

    // MARK: Identities

    /// Returns the activity's id, an upper-case UUID like the system's `activity.id`. It differs from the ids of
    /// all other activities, also of earlier processes with the same seed.
    func activityID(index: Int, slotGeneration: UInt16) -> String {
        let purpose = StableRandom.RandomPurpose.activityID.rawValue
        let occurrence = UInt64(processNumber) << 48 | UInt64(index) << 16 | UInt64(slotGeneration)
        let high = stableRandom.number(for: purpose, and: occurrence, with: 0)
        let low = stableRandom.number(for: purpose, and: occurrence, with: 1)
        let bytes = [high, low].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
        let digits = String(decoding: Hex.encode(bytes), as: UTF8.self).uppercased()
        var id = ""
        for (position, digit) in digits.enumerated() {
            if Self.digitsBeforeDashes.contains(position) { id.append("-") }
            id.append(digit)
        }
        return id
    }

    /// The number of digits of a UUID before each of its dashes.
    private static let digitsBeforeDashes = [8, 12, 16, 20]

    /// Returns a start token of a phone.
    /// - Parameter slot: index of the start token among those of the phone.
    func startToken(slot: Int, ofPhone number: Int) -> PushToken {
        let generation = startTokens[Int(phones[number].firstStartToken) + slot].generation
        return tokens.token(of: .init(kind: .start, phone: number, index: slot, generation: generation))
    }

    /// Returns the current update token of an activity.
    func updateToken(ofActivity index: Int) -> PushToken {
        let activity = activities[index]
        return tokens.token(
            of: .init(
                kind: .update, phone: Int(activity.phone), index: index,
                slotGeneration: activity.slotGeneration, generation: activity.tokenGeneration,
                processNumber: processNumber))
    }

    /// Converts seconds to milliseconds. Extreme values saturate.
    func milliseconds(fromSeconds seconds: Int64) -> Int64 {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? (seconds < 0 ? .min : .max) : value
    }
}
