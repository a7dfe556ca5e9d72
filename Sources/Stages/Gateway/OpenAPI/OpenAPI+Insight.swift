// The calls that the insight stage answers. The file OpenAPI+InsightSchemas.swift has the schemas of the answers.

extension OpenAPI {
    private static func parameter(_ name: String, schema: String) -> String {
        ##"{"name":"\##(name)","in":"query","required":false,"schema":\##(schema)}"##
    }

    private static let nameSchema = ##"{"$ref":"#/components/schemas/name"}"##
    private static let timeSchema = ##"{"type":"integer","minimum":0}"##
    private static let timeRange = [
        parameter("from", schema: timeSchema), parameter("to", schema: timeSchema),
    ]
    /// The codes are those of `Event.Code`.
    private static let byCode = parameter(
        "code", schema: ##"{"enum":["n:lst","n:lut","n:lac","profile","tap"]}"##)
    private static let byType = parameter("type", schema: nameSchema)
    private static let byGroup = parameter("group", schema: nameSchema)

    private static func pageParameters(max: Int = 500) -> [String] {
        [
            parameter("limit", schema: ##"{"type":"integer","minimum":1,"maximum":\##(max),"default":50}"##),
            parameter("cursor", schema: ##"{"type":"string"}"##),
        ]
    }

    private static let idParameter =
        ##"{"name":"id","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}}"##

    /// Returns the member `get` of a path.
    ///
    /// - Parameters:
    ///   - id: The `operationId`.
    ///   - schema: The name of the answer's schema.
    ///   - missing: Whether the call names an object that may not exist.
    ///   - files: The media types in which the caller may request a file instead of JSON.
    private static func get(
        id: String, summary: String, parameters: [String], schema: String, missing: Bool = false,
        files: [String] = []
    ) -> String {
        ##"""
        "get":{
          "operationId":"\##(id)",
          "summary":"\##(summary)",
          "description":"Role read. Answered by the insight stage. 503 insight_away if no process of it answers, insight_partial while no process answers for the lanes that may have the result, question_too_slow if the question was ended after a second of reading. 429 too_many_questions if 20 questions of the key wait.",
          "security":[{"bearer":[]}],
          "parameters":[\##(parameters.joined(separator: ","))],
          "responses":{
            \##(response(200, schema: schema, meaning: "The state as of asOf, without the lanes in partial.", files: files)),
            \##(refusals(missing: missing))
          }
        }
        """##
    }

    /// The list of sends, whose path `OpenAPI+Sends` has.
    static let listSends = get(
        id: "listSends",
        summary:
            "Sends and their outcomes, the newest first, without dry runs; at most 7 days. An answer of a filtered list can have few items and a cursor.",
        parameters: [
            byGroup, parameter("event", schema: ##"{"enum":["any","start","update","end"]}"##),
            parameter("result", schema: ##"{"enum":["any","failed","nobody","open","done"]}"##),
            parameter("author", schema: nameSchema), parameter("requestId", schema: nameSchema),
            parameter("text", schema: nameSchema),
        ] + timeRange + pageParameters(), schema: "sendList")
    /// The state of a user, whose path `OpenAPI+Others` has.
    static let getUser = get(
        id: "user", summary: "The known state of a user's phones, and the reason for their display.",
        parameters: [idParameter], schema: "user", missing: true)

    private static let listFailures = get(
        id: "listFailures",
        summary:
            "The failed pushes of a send, as far as insight keeps receipts; none for an unknown send. With format csv the answer is a file, and the header Next-Cursor has the next cursor.",
        parameters: [
            idParameter, parameter("reason", schema: nameSchema),
            parameter("format", schema: ##"{"enum":["json","csv"]}"##),
        ] + pageParameters(max: 5000), schema: "failureList", files: ["text/csv"])
    private static let showSeries = get(
        id: "series",
        summary:
            "Pushes, their latency and the freshness of phones over time, and the failures of the last hour by reason.",
        parameters: [parameter("range", schema: ##"{"enum":["15m","24h"]}"##)], schema: "series")
    private static let listUsers = get(
        id: "listUsers",
        summary: "The users that phones have reported or that have a profile, by their ids.",
        parameters: pageParameters(), schema: "userList")
    private static let listInstallations = get(
        id: "listInstallations", summary: "The phones of the app or of one user, by their ids.",
        parameters: [parameter("user", schema: nameSchema)] + pageParameters(), schema: "installationList")
    private static let listGroups = get(
        id: "listGroups", summary: "The current groups, those with the newest send first.",
        parameters: [parameter("state", schema: ##"{"enum":["live","ended","all"]}"##)] + pageParameters(),
        schema: "groupList")
    private static let showGroup = get(
        id: "group",
        summary: "One group: its newest state, its running activities, and its versions.",
        parameters: [idParameter, parameter("user", schema: nameSchema)], schema: "group", missing: true)
    private static let showTimeline = get(
        id: "groupTimeline", summary: "All versions of a group and their outcomes.",
        parameters: [idParameter] + pageParameters(), schema: "timeline", missing: true)
    private static let showInstallation = get(
        id: "installation",
        summary: "The known state of one phone, and the reason for its display.",
        parameters: [idParameter], schema: "installation", missing: true)
    private static let listEvents = get(
        id: "listEvents",
        summary:
            "Events that phones reported, by time; at most 31 days. With format csv or jsonl the answer is a file, and the header Next-Cursor has the next cursor.",
        parameters: [
            parameter("user", schema: nameSchema), parameter("installation", schema: nameSchema), byGroup,
            byCode, byType,
        ] + timeRange + [
            parameter("order", schema: ##"{"enum":["newest","oldest"]}"##),
            parameter("format", schema: ##"{"enum":["json","csv","jsonl"]}"##),
        ] + pageParameters(max: 5000),
        schema: "eventList", files: ["text/csv", "application/x-ndjson"])
    private static let countEvents = get(
        id: "countEvents",
        summary:
            "Counts of events by hour or by day; at most 31 days. If the answer has next, it ends at an hour, and a day can go on in the next answer.",
        parameters: [
            byCode, byType, byGroup, parameter("user", schema: nameSchema),
            parameter("installation", schema: nameSchema),
        ] + timeRange + [
            parameter("by", schema: ##"{"enum":["hour","day"]}"##),
            parameter(
                "split",
                schema:
                    ##"{"type":"string","description":"Any of code, type, group and user, separated by commas. The default is code."}"##
            ),
            parameter("cursor", schema: ##"{"type":"string"}"##),
        ],
        schema: "eventCounts")
    private static let showFleet = get(
        id: "fleet",
        summary:
            "The lag of the topics' readers, and the processes that answer for each lane. Without the role admin only the lanes and the app's open breakers.",
        parameters: [], schema: "fleet")
    private static let listAudit = get(
        id: "audit", summary: "Changes or sends and their authors, the newest first; at most 400 days.",
        parameters: [
            parameter("of", schema: ##"{"enum":["settings","sends"]}"##),
            parameter("by", schema: nameSchema), parameter("action", schema: nameSchema),
            parameter("subject", schema: nameSchema),
        ] + timeRange + pageParameters(), schema: "auditList")

    static let insightPaths = ##"""
        "/v1/sends/{id}/failures":{\##(listFailures)},
        "/v1/series":{\##(showSeries)},
        "/v1/groups":{\##(listGroups)},
        "/v1/groups/{id}":{\##(showGroup)},
        "/v1/groups/{id}/timeline":{\##(showTimeline)},
        "/v1/users":{\##(listUsers)},
        "/v1/installations":{\##(listInstallations)},
        "/v1/installations/{id}":{\##(showInstallation)},
        "/v1/events":{\##(listEvents)},
        "/v1/events/counts":{\##(countEvents)},
        "/v1/fleet":{\##(showFleet)},
        "/v1/audit":{\##(listAudit)}
        """##
}
