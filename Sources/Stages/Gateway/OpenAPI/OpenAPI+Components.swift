// The members of `components` to which many calls refer. The schemas of each subject are beside its paths.

extension OpenAPI {
    static let securitySchemes = #"""
        {
          "bearer":{
            "type":"http",
            "scheme":"bearer",
            "description":"A key from `flotilla keys create`. Its role grants calls: report, read, send (includes report and read), admin (all)."
          },
          "netmera":{"type":"apiKey","in":"header","name":"X-netmera-api-key"}
        }
        """#

    static let parameters = #"""
        {
          "idempotencyKey":{
            "name":"Idempotency-Key",
            "in":"header",
            "required":false,
            "description":"Marks a repetition: a second request with the same key within 24 hours gets the same sendId and is not carried out again. The same key with another body is refused with 409 idempotency_conflict and the first sendId. If the verdict does not come in time, the answer is 202 and GET /v1/sends/{id} counts it in conflicts.",
            "schema":{"type":"string","minLength":1,"maxLength":128,"pattern":"^[!-~]+$"}
          },
          "sendId":{
            "name":"id",
            "in":"path",
            "required":true,
            "description":"The sendId from POST /v1/sends.",
            "schema":{
              "type":"string",
              "pattern":"^(r-[0-9]{1,16}-[0-9]{1,3}-[0-9a-f]{24}|k-[0-9]{1,3}-[0-9a-f]{32}|t-[0-9]{1,16}-[0-9]{1,3}-[0-9]{1,3}-[0-9a-f]{24}|d-[0-9]{1,3}-[0-9]{1,3}-[0-9a-f]{32})$"
            }
          },
          "at":{
            "name":"at",
            "in":"query",
            "required":false,
            "description":"The acceptedAt of the answer. The search for a send with an idempotency key starts there, because its id has no time.",
            "schema":{"type":"integer","minimum":0,"maximum":9007199254740992}
          },
          "name":{"name":"name","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}},
          "webhookName":{
            "name":"name",
            "in":"path",
            "required":true,
            "schema":{"type":"string","minLength":1,"maxLength":64,"pattern":"^[A-Za-z0-9._-]+$"}
          },
          "user":{"name":"id","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}},
          "scheduleUser":{
            "name":"user",
            "in":"query",
            "required":false,
            "description":"The user who owns the schedules. A key with the role report must use it.",
            "schema":{"$ref":"#/components/schemas/name"}
          },
          "scheduleGroup":{
            "name":"group",
            "in":"query",
            "required":false,
            "description":"The group that owns the sends for later, if they do not belong to one user.",
            "schema":{"$ref":"#/components/schemas/name"}
          },
          "scheduleCursor":{
            "name":"cursor",
            "in":"query",
            "required":false,
            "description":"The field next of the page before.",
            "schema":{"type":"string"}
          },
          "scheduleActivity":{
            "name":"activity",
            "in":"query",
            "required":false,
            "description":"The activity name in the schedules. Selects all waiting schedules of the activity.",
            "schema":{"$ref":"#/components/schemas/name"}
          },
          "scheduleId":{
            "name":"id",
            "in":"query",
            "required":false,
            "description":"Selects one schedule, instead of an activity.",
            "schema":{"$ref":"#/components/schemas/name"}
          },
          "userProof":{
            "name":"User-Proof",
            "in":"header",
            "required":false,
            "description":"The hex HMAC-SHA256 of the user id, or SECONDS.HMAC.INSTALLATION. Used with a key of the role report, if the app requires it.",
            "schema":{"type":"string"}
          }
        }
        """#

    static let headers = #"""
        {
          "requestId":{
            "description":"The X-Request-Id of the request, if it has 1 to 128 letters, digits and characters of -_.~:+/=, otherwise a random id. It stands in the log, in the audit and on the send.",
            "schema":{"type":"string","maxLength":128}
          },
          "rateLimitPolicy":{
            "description":"The requests that the key may make in a window of w seconds, by draft-ietf-httpapi-ratelimit-headers. Each send of a batch counts as one.",
            "schema":{"type":"string"}
          },
          "rateLimit":{
            "description":"The remaining requests (r) of the key, and the seconds until all are available again (t).",
            "schema":{"type":"string"}
          },
          "retryAfter":{
            "description":"Seconds to wait before the next try.",
            "schema":{"type":"integer","minimum":1}
          }
        }
        """#

    static let responses = #"""
        {
          "badRequest":{
            "description":"The request is not valid HTTP, or the body is not unambiguous JSON.",
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "unauthorized":{
            "description":"The key is missing or not valid.",
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "forbidden":{
            "description":"The key's role does not allow this call, or the key's app was deleted.",
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "notFound":{
            "description":"The key's app has no such object.",
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "conflict":{
            "description":"The catalog does not allow the change now, the Idempotency-Key was used with another body, or the group has a newer state than ifVersion.",
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "limit":{
            "description":"The request exceeds a limit, which the message names.",
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "refused":{
            "description":"All problems of the request, each with field, rule and remedy. Nothing was stored.",
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "tooMany":{
            "description":"The request exceeds a rate limit.",
            "headers":{
              "Retry-After":{"$ref":"#/components/headers/retryAfter"},
              "RateLimit-Policy":{"$ref":"#/components/headers/rateLimitPolicy"},
              "RateLimit":{"$ref":"#/components/headers/rateLimit"}
            },
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          },
          "unavailable":{
            "description":"The service is unavailable, or it is unknown whether the request was stored. Send it again.",
            "headers":{"Retry-After":{"$ref":"#/components/headers/retryAfter"}},
            "content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}
          }
        }
        """#
}
