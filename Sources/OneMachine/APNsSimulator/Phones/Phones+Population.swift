internal import Identifiers

/// Phones of a population, with properties that depend on the seed and the phone's number.
extension Phones {
    /// Adds a population and returns the numbers of its phones. With a sink, all of them open the app and
    /// report in the following ticks.
    @discardableResult
    package func add(_ population: Population, at time: Int64) -> Range<Int> {
        precondition(phones.count + population.phones < Int(Int32.max), "too many phones for 31 bits")
        if firstPhonesAddedAt == nil {
            firstPhonesAddedAt = time
            // The seconds, cut to 16 bits. Two processes get the same number only if they start a multiple of 18
            // hours apart.
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
        let numbers = first..<phones.count
        outgoingReports.enqueueLaunches(ofPhones: numbers)
        return numbers
    }

    /// - Parameter index: position of the phone in its population.
    private func addPhone(
        number: Int, index: Int, of population: Population, app: UInt16, at time: Int64
    ) {
        let phone = makePhone(number: number, index: index, of: population, app: app)
        phones.append(phone)
        for _ in 0..<startTokenCount(of: population.app) {
            startTokens.append(StartToken(registeredAt: time))
        }
        if phone.traits.contains(.away) {
            let share = stableRandom.fraction(for: .away, ofPhone: number, occurrence: 1)
            takeOffline(phone: number, until: time + Int64(share * Double(population.awayMilliseconds)))
        }
    }

    /// Returns a phone with random properties. Its start tokens must be added next.
    private func makePhone(number: Int, index: Int, of population: Population, app: UInt16) -> Phone {
        let system =
            Self.valueInTurn(of: population.systemsInTurn, index: index)
            ?? randomSystem(ofPhone: number, in: population)
        // A phone stores the index of its locale in one byte.
        let localeCount = Double(min(population.locales.count, Int(UInt8.max)))
        let locale = Int(stableRandom.fraction(for: .locale, ofPhone: number) * localeCount)
        var phone = Phone(
            app: app, system: system, traits: [], locale: UInt8(clamping: locale),
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
        return phone
    }

    /// Returns the phone's value if the values are assigned in turn, or nil if the list is empty.
    private static func valueInTurn<Value>(of values: [Value], index: Int) -> Value? {
        values.isEmpty ? nil : values[index % values.count]
    }

    /// Returns a version of iOS, with the probability of its weight.
    private func randomSystem(ofPhone number: Int, in population: Population) -> OSVersion {
        let totalWeight = population.systems.reduce(0) { $0 + $1.weight }
        // A random position on a line on which each version has a section of its weight.
        var position = stableRandom.fraction(for: .system, ofPhone: number) * totalWeight
        for (system, weight) in population.systems {
            position -= weight
            if position < 0 { return system }
        }
        return population.systems.last?.system ?? .broadcastChannels
    }

    // MARK: Properties that are not stored

    /// Returns the phone's tags, or nil if it has none.
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
