internal import HTTPServer
internal import JSON

/// `/v1/phones`, `/v1/phones/{installation}` and `/v1/groups/{group}`: the screens and the received pushes of
/// phones, their valid tokens, and the actions of their users.
struct PhoneRoutes {
    /// The values of the field `does`.
    private enum UserAction: String, CaseIterable {
        case away
        case back
        case quit
        case open
        case update
        case uninstall
        case install
    }

    /// Number of newest received pushes in the answer about one phone.
    private static let receivedDefault = 20
    private static let receivedMax = 1_000
    /// Limit on the content states of a group.
    private static let statesMax = 100
    /// Number of phones on one page of the list.
    private static let listedDefault = 100
    private static let listedMax = 10_000

    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        addPhoneList(to: &routes)
        addPhone(to: &routes)
        addPhoneTokens(to: &routes)
        addUserAction(to: &routes)
        addGroup(to: &routes)
    }

    // MARK: Reading

    private func addPhoneList(to routes: inout HTTPRoutes) {
        routes.control(.get, path: "/v1/phones") { [controller] request in
            try request.refuseUnknownQuery(known: "from", "limit")
            let first = try request.queryNumber("from", in: 0...Int.max, default: 0)
            let limit = try request.queryNumber("limit", in: 1...Self.listedMax, default: Self.listedDefault)
            let page = try await controller.perform { controller in
                let time = controller.simulator.clock.now
                return controller.phones?.page(from: first, limit: limit, at: time) ?? PhonePage()
            }
            return .object { page.writeFields(to: &$0) }
        }
    }

    private func addPhone(to routes: inout HTTPRoutes) {
        routes.control(.get, path: "/v1/phones/{installation}") { [controller] request in
            let name = request.parameters["installation"] ?? ""
            let limit = try request.queryNumber(
                "received", in: 0...Self.receivedMax, default: Self.receivedDefault)
            let screen = try await controller.perform { controller throws(ControlRefusal) in
                let (phones, number) = try Self.phone(named: name, in: controller)
                return phones.screen(
                    ofPhone: number, receptions: limit, at: controller.simulator.clock.now)
            }
            return .object { screen.writeFields(to: &$0) }
        }
    }

    private func addPhoneTokens(to routes: inout HTTPRoutes) {
        routes.control(.get, path: "/v1/phones/{installation}/tokens") { [controller] request in
            let name = request.parameters["installation"] ?? ""
            let tokens = try await controller.perform { controller throws(ControlRefusal) in
                let (phones, number) = try Self.phone(named: name, in: controller)
                return phones.currentTokens(ofPhone: number)
            }
            return .object { tokens.writeFields(to: &$0) }
        }
    }

    private func addGroup(to routes: inout HTTPRoutes) {
        routes.control(.get, path: "/v1/groups/{group}") { [controller] request in
            let name = request.parameters["group"] ?? ""
            let screens = try await controller.perform { controller throws(ControlRefusal) in
                let screens = controller.phones?.screens(
                    ofGroup: name, limit: Self.statesMax, at: controller.simulator.clock.now)
                guard let screens else {
                    throw ControlRefusal(
                        status: 404, code: "no_group", message: "no phone shows an activity of this group")
                }
                return screens
            }
            return .object { screens.writeFields(to: &$0) }
        }
    }

    /// Returns the phones and the number of the phone with this installation.
    static func phone(
        named name: String, in controller: SimulatorController
    ) throws(ControlRefusal) -> (Phones, Int) {
        guard let phones = controller.phones, let number = phones.number(ofInstallation: name) else {
            throw ControlRefusal(
                status: 404, code: "no_phone",
                message: "no such phone exists; GET /v1/phones lists them")
        }
        return (phones, number)
    }

    // MARK: Actions

    private func addUserAction(to routes: inout HTTPRoutes) {
        routes.control(.post, path: "/v1/phones/{installation}") { [controller] request in
            let name = request.parameters["installation"] ?? ""
            let (action, milliseconds) = try request.readJSON { value in
                let object = value.object()
                let fields = (
                    // The placeholder is never used: an unknown action is a problem, and then `readJSON` throws.
                    object["does"].choice(of: UserAction.self) ?? .open,
                    object["milliseconds"].optional?.milliseconds()
                )
                object.reportUnknownFields()
                return fields
            }
            try await controller.perform { controller throws(ControlRefusal) in
                let (phones, number) = try Self.phone(named: name, in: controller)
                Self.perform(
                    action, milliseconds: milliseconds, onPhone: number, of: phones,
                    at: controller.simulator.clock.now)
            }
            return .object { $0.field("installation", name) }
        }
    }

    /// - Parameter milliseconds: the time that the phone is away, for `away`.
    private static func perform(
        _ action: UserAction, milliseconds: Int?, onPhone number: Int, of phones: Phones, at time: Int64
    ) {
        switch action {
        case .away:
            phones.takeOffline(
                phone: number, until: time + Int64(milliseconds ?? DelayDistribution.millisecondsMax))
        case .back: phones.bringOnline(phone: number, at: time)
        case .quit: phones.quitApp(onPhone: number)
        case .open: phones.openApp(onPhone: number, at: time)
        case .update: phones.updateApp(onPhone: number, at: time)
        case .uninstall: phones.uninstallApp(onPhone: number, at: time)
        case .install: phones.installApp(onPhone: number, at: time)
        }
    }
}
