internal import HTTPServer
internal import JSON
internal import LiveActivity

/// `/v1/phones/{installation}` and `/v1/groups/{group}`: the content and the received pushes of a phone, its
/// valid tokens, and the actions of its user.
struct PhoneRoutes {
    private enum Deed: String, CaseIterable {
        case away
        case back
        case quit
        case open
        case update
        case uninstall
        case install
    }

    private static let receivedUsual = 20
    private static let receivedMax = 1_000
    private static let statesMax = 100
    private static let listedUsual = 100
    private static let listedMax = 10_000

    let desk: ControlDesk

    func add(to routes: inout HTTPRoutes) {
        let desk = desk
        routes.control(.get, "/v1/phones") { request in
            try request.refuseUnknownQuery("from", "limit")
            let first = try request.number("from", in: 0...Int.max, or: 0)
            let limit = try request.number("limit", in: 1...Self.listedMax, or: Self.listedUsual)
            let page = try await desk.ask { desk in
                desk.phones?.page(from: first, limit: limit, at: desk.simulator.clock.now) ?? PhonePage()
            }
            return .object { page.writeFields(to: &$0) }
        }
        routes.control(.get, "/v1/phones/{installation}") { request in
            let name = request.parameters["installation"] ?? ""
            let limit = try request.number("received", in: 0...Self.receivedMax, or: Self.receivedUsual)
            let view = try await desk.ask { desk throws(ControlRefusal) in
                let (phones, number) = try Self.phone(name, desk)
                return phones.view(number, receptions: limit, at: desk.simulator.clock.now)
            }
            return .object { view.writeFields(to: &$0) }
        }
        routes.control(.get, "/v1/phones/{installation}/tokens") { request in
            let name = request.parameters["installation"] ?? ""
            let tokens = try await desk.ask { desk throws(ControlRefusal) in
                let (phones, number) = try Self.phone(name, desk)
                return phones.tokens(of: number)
            }
            return .object { tokens.writeFields(to: &$0) }
        }
        routes.control(.post, "/v1/phones/{installation}") { request in
            let name = request.parameters["installation"] ?? ""
            let (deed, milliseconds) = try request.read { value in
                let object = value.object()
                let read = (
                    object["does"].choice(of: Deed.self), object["milliseconds"].optional?.milliseconds()
                )
                object.refuseUnknownFields()
                return read
            }
            try await desk.ask { desk throws(ControlRefusal) in
                let (phones, number) = try Self.phone(name, desk)
                if let deed {
                    Self.act(
                        deed, milliseconds: milliseconds, on: number, of: phones, at: desk.simulator.clock.now
                    )
                }
            }
            return .object { $0.field("installation", name) }
        }
        routes.control(.get, "/v1/groups/{group}") { request in
            let name = request.parameters["group"] ?? ""
            let view = try await desk.ask { desk throws(ControlRefusal) in
                let view = desk.phones?.view(group: name, limit: Self.statesMax, at: desk.simulator.clock.now)
                guard let view else {
                    throw ControlRefusal(404, "no_group", message: "no phone shows an activity of this group")
                }
                return view
            }
            return .object { view.writeFields(to: &$0) }
        }
    }

    static func phone(
        _ name: String, _ desk: ControlDesk
    ) throws(ControlRefusal) -> (Phones, Int) {
        guard let phones = desk.phones, let number = phones.number(of: name) else {
            throw ControlRefusal(
                404, "no_phone",
                message: "no such phone exists; phones are named phone-0 and so on, up to --phones")
        }
        return (phones, number)
    }

    private static func act(
        _ deed: Deed, milliseconds: Int?, on number: Int, of phones: Phones, at time: Int64
    ) {
        switch deed {
        case .away:
            phones.goAway(number, until: time + Int64(milliseconds ?? DelayDistribution.millisecondsMax))
        case .back: phones.returnNow(number, at: time)
        case .quit: phones.quit(number)
        case .open: phones.open(number, at: time)
        case .update: phones.update(number, at: time)
        case .uninstall: phones.uninstall(number, at: time)
        case .install: phones.install(number, at: time)
        }
    }
}
