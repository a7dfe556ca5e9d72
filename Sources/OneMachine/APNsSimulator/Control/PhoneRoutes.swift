internal import HTTPServer
internal import JSON
internal import LiveActivity

/// `/v1/phones/{installation}` and `/v1/groups/{group}`: the content and the received pushes of a phone, its
/// valid tokens, and the actions of its user.
struct PhoneRoutes {
    private enum UserAction: String, CaseIterable {
        case away
        case back
        case quit
        case open
        case update
        case uninstall
        case install
    }

    private static let receivedDefault = 20
    private static let receivedMax = 1_000
    private static let statesMax = 100
    private static let listedDefault = 100
    private static let listedMax = 10_000

    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        let controller = controller
        routes.control(.get, path: "/v1/phones") { request in
            try request.refuseUnknownQuery(known: "from", "limit")
            let first = try request.queryNumber("from", in: 0...Int.max, default: 0)
            let limit = try request.queryNumber("limit", in: 1...Self.listedMax, default: Self.listedDefault)
            let page = try await controller.perform { desk in
                desk.phones?.page(from: first, limit: limit, at: desk.simulator.clock.now) ?? PhonePage()
            }
            return .object { page.writeFields(to: &$0) }
        }
        routes.control(.get, path: "/v1/phones/{installation}") { request in
            let name = request.parameters["installation"] ?? ""
            let limit = try request.queryNumber(
                "received", in: 0...Self.receivedMax, default: Self.receivedDefault)
            let view = try await controller.perform { desk throws(ControlRefusal) in
                let (phones, number) = try Self.phone(named: name, in: desk)
                return phones.screen(ofPhone: number, receptions: limit, at: desk.simulator.clock.now)
            }
            return .object { view.writeFields(to: &$0) }
        }
        routes.control(.get, path: "/v1/phones/{installation}/tokens") { request in
            let name = request.parameters["installation"] ?? ""
            let tokens = try await controller.perform { desk throws(ControlRefusal) in
                let (phones, number) = try Self.phone(named: name, in: desk)
                return phones.currentTokens(ofPhone: number)
            }
            return .object { tokens.writeFields(to: &$0) }
        }
        routes.control(.post, path: "/v1/phones/{installation}") { request in
            let name = request.parameters["installation"] ?? ""
            let (deed, milliseconds) = try request.readJSON { value in
                let object = value.object()
                let read = (
                    object["does"].choice(of: UserAction.self),
                    object["milliseconds"].optional?.milliseconds()
                )
                object.reportUnknownFields()
                return read
            }
            try await controller.perform { desk throws(ControlRefusal) in
                let (phones, number) = try Self.phone(named: name, in: desk)
                if let deed {
                    Self.perform(
                        deed, milliseconds: milliseconds, onPhone: number, of: phones,
                        at: desk.simulator.clock.now
                    )
                }
            }
            return .object { $0.field("installation", name) }
        }
        routes.control(.get, path: "/v1/groups/{group}") { request in
            let name = request.parameters["group"] ?? ""
            let view = try await controller.perform { desk throws(ControlRefusal) in
                let view = desk.phones?.screens(
                    ofGroup: name, limit: Self.statesMax, at: desk.simulator.clock.now)
                guard let view else {
                    throw ControlRefusal(
                        status: 404, code: "no_group", message: "no phone shows an activity of this group")
                }
                return view
            }
            return .object { view.writeFields(to: &$0) }
        }
    }

    static func phone(
        named name: String, in desk: SimulatorController
    ) throws(ControlRefusal) -> (Phones, Int) {
        guard let phones = desk.phones, let number = phones.number(ofInstallation: name) else {
            throw ControlRefusal(
                status: 404, code: "no_phone",
                message: "no such phone exists; phones are named phone-0 and so on, up to --phones")
        }
        return (phones, number)
    }

    private static func perform(
        _ deed: UserAction, milliseconds: Int?, onPhone number: Int, of phones: Phones, at time: Int64
    ) {
        switch deed {
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
