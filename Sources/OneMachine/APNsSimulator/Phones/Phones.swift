internal import Containers
internal import LiveActivity

/// The phones behind the simulated APNs: the content of each screen, and the reasons why a push had no
/// effect.
///
/// It is deterministic: time and randomness are parameters, it changes only when called, and `tick` applies
/// the due events. Confined to the simulator's event loop.
package final class Phones {
    let settings: PhoneSettings
    let stableRandom: StableRandom
    let tokens: PhoneTokens

    // Exclusivity is unchecked here and for all other state that a push accesses often. One thread accesses
    // it, and no call made during an access uses it again.
    @safe @exclusivity(unchecked) var apps: [PhoneApp] = []
    @safe @exclusivity(unchecked) var phones: [Phone] = []
    @safe @exclusivity(unchecked) var startTokens: [StartToken] = []
    @safe @exclusivity(unchecked) var activities: [PhoneActivity] = []
    /// Time of the first phones in this process, in milliseconds since 1970. An earlier process with the same
    /// seed had the same phones. Its activities have been gone since this time.
    var beganAt: Int64?
    /// Number that distinguishes this process's activities from those of earlier processes.
    var processNumber: UInt16 = 0
    /// Index of the first free activity slot, -1 for none.
    var freeActivity: Int32 = -1

    @safe @exclusivity(unchecked) var contents = SharedValues<RawJSON>()
    var groups = SharedValues<String>()
    var channels = PhoneChannels()
    @safe @exclusivity(unchecked) var decoder = PhoneDecoder()
    var names = PhoneNames()
    /// Populations by app.
    var populations: [Population] = []
    @safe @exclusivity(unchecked) var receptions: Receptions

    /// Pushes that APNs stores for phones that are away: one for each phone, because APNs stores one for each
    /// device and app.
    var stored: [Int32: AcceptedPush] = [:]
    /// The newest update above the budget, by the activity's index.
    var throttled: [Int32: AcceptedPush] = [:]
    @safe @exclusivity(unchecked) var activityWakes = MinHeap<PhoneWake>()
    var phoneWakes = MinHeap<PhoneWake>()

    var outgoing = OutgoingReports()
    /// Receiver of the phones' reports. Without it, phones send no reports.
    package var sink: (any ReportSink)?
    package var eventRates: PhoneEventRates?
    var eventRandom: SeededRandom
    var eventsSimulatedUntil: Int64 = .min

    package init(settings: PhoneSettings = PhoneSettings()) {
        self.settings = settings
        stableRandom = StableRandom(seed: settings.seed)
        tokens = PhoneTokens(seed: settings.seed, bytes: settings.tokenBytes)
        receptions = Receptions(countMax: settings.receivedMax)
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
    func typeNumber(app: UInt16, type: UInt16) -> Int { Int(app) << 16 | Int(type) }

    func type(of activity: PhoneActivity) -> ActivityType {
        apps[Int(phones[Int(activity.phone)].app)].types[Int(activity.type)]
    }

    /// Returns the indices of a phone's activities, newest first.
    func activityIndices(ofPhone number: Int) -> [Int] {
        var found: [Int] = []
        var index = phones[number].firstActivity
        while index >= 0 {
            found.append(Int(index))
            index = activities[Int(index)].nextIndex
        }
        return found
    }

    func startToken(slot: Int, ofPhone number: Int) -> PushToken {
        let generation = startTokens[Int(phones[number].firstStartToken) + slot].generation
        return tokens.token(
            of: .init(kind: .start, phone: number, index: slot, generation: generation))
    }

    func updateToken(ofActivity index: Int) -> PushToken {
        let activity = activities[index]
        return tokens.token(
            of: .init(
                kind: .update, phone: Int(activity.phone), index: index,
                slotGeneration: activity.slotGeneration,
                generation: activity.tokenGeneration, processNumber: processNumber))
    }
}
