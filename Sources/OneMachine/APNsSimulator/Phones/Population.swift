package import LiveActivity

/// Many phones of one app. The seed and each phone's number determine its properties.
package struct Population: Sendable {
    package var app: PhoneApp
    package var phones: Int
    /// Versions of iOS with their weights.
    package var systems: [(system: OSVersion, weight: Double)] = [
        (Population.newestSystem, 40), (OSVersion(18, 6), 40), (OSVersion(17, 6), 14), (OSVersion(16, 7), 6),
    ]
    /// If not empty, replaces `systems`: the versions are assigned to the phones in turn.
    package var systemsInTurn: [OSVersion] = []
    package var sandboxShare = 0.0
    /// If not empty, replaces `sandboxShare`: the environments are assigned to the phones in turn.
    package var environmentsInTurn: [Environment] = []
    /// Share of phones with a known user. The others are installations only.
    package var userShare = 1.0
    package var phonesPerUser = 1
    package var frequentUpdatesShare = 0.5
    /// Share of phones whose user has switched Live Activities off.
    package var switchedOffShare = 0.0
    package var awayShare = 0.0
    /// Longest time until a phone that is away returns.
    package var awayMilliseconds: Int64 = 3_600_000
    package var locales = ["en_GB"]
    /// Tags, with the share of phones that have them.
    package var tags: [(name: String, share: Double)] = []

    package static let newestSystem = OSVersion(26, 1)

    package init(of app: PhoneApp, phones: Int) {
        self.app = app
        self.phones = phones
    }
}

extension Phones {
    /// Adds a population and returns the numbers of its phones. With a sink, all of them open the app and
    /// report in the following turns.
    @discardableResult
    package func add(_ population: Population, at time: Int64) -> Range<Int> {
        precondition(phones.count + population.phones < Int(Int32.max), "too many phones for 31 bits")
        if beganAt == nil {
            beganAt = time
            processNumber = UInt16(truncatingIfNeeded: time / 1_000)
        }
        let app = UInt16(apps.count)
        apps.append(population.app)
        populations.append(population)
        let first = phones.count
        phones.reserveCapacity(first + population.phones)
        startTokens.reserveCapacity(
            startTokens.count + population.phones * startTokenCount(of: population.app))
        for index in 0..<population.phones {
            addPhone(number: first + index, index: index, of: population, app: app, at: time)
        }
        let added = first..<phones.count
        outgoing.enqueueLaunches(ofPhones: added)
        return added
    }

    /// - Parameter index: position of the phone in its population.
    private func addPhone(
        number: Int, index: Int, of population: Population, app: UInt16, at time: Int64
    ) {
        var phone = Phone(
            app: app,
            system: Self.valueInTurn(of: population.systemsInTurn, index: index)
                ?? system(ofPhone: number, in: population),
            traits: [],
            locale: UInt8(
                clamping: Int(
                    stableRandom.fraction(for: .locale, ofPhone: number)
                        * Double(min(population.locales.count, 255)))),
            firstStartToken: UInt32(startTokens.count))
        func insertTrait(share: Double, for purpose: StableRandom.RandomPurpose, trait: Phone.Traits) {
            if stableRandom.happens(withProbability: share, for: purpose, ofPhone: number) {
                phone.traits.insert(trait)
            }
        }
        if let environment = Self.valueInTurn(of: population.environmentsInTurn, index: index) {
            if environment == .sandbox { phone.traits.insert(.sandbox) }
        } else {
            insertTrait(share: population.sandboxShare, for: .environment, trait: .sandbox)
        }
        insertTrait(share: population.frequentUpdatesShare, for: .frequentUpdates, trait: .frequentUpdates)
        insertTrait(share: population.switchedOffShare, for: .switchedOff, trait: .switchedOff)
        insertTrait(share: population.awayShare, for: .away, trait: .away)
        if stableRandom.happens(withProbability: population.userShare, for: .user, ofPhone: number) {
            phone.user = Int32(number / max(1, population.phonesPerUser))
        }
        phones.append(phone)
        for _ in 0..<startTokenCount(of: population.app) {
            startTokens.append(StartToken(registeredAt: time))
        }
        if phone.traits.contains(.away) {
            let share = stableRandom.fraction(for: .away, ofPhone: number, occurrence: 1)
            takeOffline(phone: number, until: time + Int64(share * Double(population.awayMilliseconds)))
        }
    }

    private static func valueInTurn<Value>(of values: [Value], index: Int) -> Value? {
        values.isEmpty ? nil : values[index % values.count]
    }

    private func system(ofPhone number: Int, in population: Population) -> OSVersion {
        var left =
            stableRandom.fraction(for: .system, ofPhone: number)
            * population.systems.reduce(0) { $0 + $1.weight }
        for (system, weight) in population.systems {
            left -= weight
            if left < 0 { return system }
        }
        return population.systems.last?.system ?? .broadcastChannels
    }

    func tags(ofPhone number: Int) -> [String]? {
        let tags = population(ofPhone: number).tags.enumerated().filter { index, tag in
            stableRandom.happens(
                withProbability: tag.share, for: .tag, ofPhone: number, occurrence: UInt64(index))
        }
        return tags.isEmpty ? nil : tags.map(\.element.name)
    }

    func locale(ofPhone number: Int) -> String? {
        let locales = population(ofPhone: number).locales
        let index = Int(phones[number].locale)
        return index < locales.count ? locales[index] : nil
    }

    private func population(ofPhone number: Int) -> Population { populations[Int(phones[number].app)] }
}
